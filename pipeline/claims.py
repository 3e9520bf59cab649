"""Stage claims: what the paper says about its results, with our figures, and whether it holds here."""

import logging
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.data.corpus import read_corpus
from pipeline.data.errors import InputError
from pipeline.data.predictions import folder_of
from pipeline.reporting import by_text, resampling
from pipeline.reporting.table import Table
from pipeline.running import app

COLUMNS = ["claim", "of", "better", "than", "paper", "ours", "low", "high", "holds"]

log = logging.getLogger(__name__)


@dataclass
class Claim:
    """One claim: how far a model's perplexity is below another's, or that the two are alike."""

    says: str
    better: str  # name of a model below predictions
    than: str
    paper: float | None = None  # the paper's figure for `than`'s perplexity over `better`'s, less 1
    least: float = 0.0  # `than` is above `better` by more than this share of it,
    most: float = math.inf  # and by no more than this


@dataclass
class Epochs:
    """A claim that one network converges sooner than another; a training has converged near its best perplexity."""

    says: str
    quick: str  # name of a network below predictions
    slow: str
    paper: float | None = None  # epochs of `slow` over those of `quick`, less 1
    least: float = 0.0  # at least this share more epochs
    near: float = 0.01  # within this share of the best validation perplexity


@dataclass
class Falling:
    """A claim that a network does not overfit: validation perplexity falls to the last epoch."""

    says: str
    name: str  # of a network below predictions


@dataclass
class Config:
    """conf/claims.yaml."""

    claims: list[Claim]
    epochs: list[Epochs]
    falling: list[Falling]
    name: str
    split: str
    table: Table
    data: str
    predictions: list[str]
    out: str
    timing: str


def main(config: Config) -> None:
    """Writes <name>.csv and <name>.md into config.out."""
    corpus, out = read_corpus(config.data), Path(config.out)
    texts = by_text.texts_of(corpus, config.split)
    sums = {
        name: by_text.sums(texts, by_text.folders(name, config.predictions, config.table.seeds), config.split)
        for claim in config.claims
        for name in (claim.better, claim.than)
    }
    lines = []
    for claim in config.claims:
        ratio = resampling.ratio(sums[claim.than], sums[claim.better], texts["tokens"].to_numpy())
        holds = verdict(claim, ratio.low - 1, ratio.high - 1)
        figures = (claim.paper, ratio.value - 1, ratio.low - 1, ratio.high - 1, holds)
        lines.append((claim.says, "perplexity", claim.better, claim.than, *figures))
    for claim in config.epochs:
        more, holds = sooner(claim, curve_of(config, claim.quick), curve_of(config, claim.slow))
        lines.append((claim.says, "epochs", claim.quick, claim.slow, claim.paper, more, np.nan, np.nan, holds))
    for claim in config.falling:
        curve = curve_of(config, claim.name)
        less = curve.iloc[:-1].min() / curve.iloc[-1] - 1
        compared = ("validation perplexity", f"{claim.name}'s last epoch", "the best before")
        lines.append((claim.says, *compared, np.nan, less, np.nan, np.nan, "yes" if less > 0 else "no"))
    table = pd.DataFrame(lines, columns=COLUMNS)
    out.mkdir(parents=True, exist_ok=True)
    table.to_csv(out / f"{config.name}.csv", index=False, float_format="%.6f")
    (out / f"{config.name}.md").write_text(markdown(table, config.split), encoding="utf-8")
    log.info("%s", table["holds"].value_counts().to_dict())


def sooner(claim: Epochs, quick: pd.Series, slow: pd.Series) -> tuple[float, str]:
    """The epochs of `slow` over those of `quick`, less 1, and whether the claim holds.

    A curve whose last epoch is its best was cut off before its end: it may have needed more epochs than it shows. So
    of a quick network that was cut off nothing can be said, and of a slow one only that it needed at least so many.
    """
    more = epochs_to_converge(slow, claim.near) / epochs_to_converge(quick, claim.near) - 1
    if quick.idxmin() == quick.index[-1]:
        return more, "open"
    if more >= claim.least:
        return more, "yes"
    return more, "open" if slow.idxmin() == slow.index[-1] else "no"


def epochs_to_converge(curve: pd.Series, near: float) -> int:
    """Epochs until validation perplexity is within a share of its best."""
    return int((curve <= curve.min() * (1 + near)).idxmax())


def curve_of(config: Config, name: str) -> pd.Series:
    """A network's validation perplexity by epoch, of the first seed."""
    file = folder_of(f"{name}/{config.table.seeds[0]}", config.predictions) / "curve.csv"
    if not file.is_file():
        raise InputError(f"no learning curve in {file.parent}: {name} is no network")
    return pd.read_csv(file).set_index("epoch")["valid_perplexity"]


def verdict(claim: Claim, low: float, high: float) -> str:
    """yes or no where the whole interval says so, else open."""
    if claim.least < low and high <= claim.most:
        return "yes"
    return "no" if high <= claim.least or low > claim.most else "open"


def markdown(table: pd.DataFrame, split: str) -> str:
    """The claims as a Markdown table with a line on how to read it."""
    read = pd.DataFrame(
        {
            "the paper says": table["claim"],
            "compared": table["of"] + " of " + table["than"] + " over " + table["better"],
            "paper": [f"{value:+.1%}" if pd.notna(value) else "" for value in table["paper"]],
            "ours": [f"{value:+.1%}" for value in table["ours"]],
            "95 % interval": [
                f"{low:+.1%} to {high:+.1%}" if pd.notna(low) else ""
                for low, high in zip(table["low"], table["high"], strict=True)
            ],
            "holds": table["holds"],
        }
    )
    head = (
        f"Perplexity of one model over another's on {split}, or of validation or epochs as is said, less 1. The "
        "intervals resample the texts, both models on the same ones; `open`: the interval holds both answers. "
        "Networks: the mean log-probability over seeds; NAME/0: of seed 0 alone.\n\n"
    )
    return head + read.to_markdown(index=False, disable_numparse=True) + "\n"


if __name__ == "__main__":
    app.run("claims", Config, main, timed=True)
