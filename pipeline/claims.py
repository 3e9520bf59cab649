"""Stage claims: what the paper says about its results, with our figures, and whether it holds here."""

import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline import app, store
from pipeline.core import statistics
from pipeline.core.errors import InputError

log = logging.getLogger(__name__)


@dataclass
class Claim:
    """One claim: that a model's perplexity is below another's, or that the two are alike."""

    says: str
    better: str  # name of a model below predictions
    than: str
    paper: float | None = None  # the paper's figure for `than`'s perplexity over `better`'s, less 1
    least: float = 0.0  # `than` is above `better` by more than this share ...
    within: float | None = None  # ... or, where given, differs from it by no more than this


@dataclass
class Config:
    """conf/claims.yaml."""

    claims: list[Claim]
    split: str
    seeds: list[int]
    data: str
    predictions: str
    out: str

    def __post_init__(self):
        if self.split not in ("valid", "test"):
            raise InputError(f"split={self.split!r}: choose valid or test")


def main(config: Config) -> None:
    """Writes claims.csv and claims.md into config.out."""
    corpus, out = store.read_corpus(config.data), Path(config.out)
    texts = corpus.texts[corpus.texts["split"] == config.split]
    firsts, tokens = (texts["first"] - texts["first"].min()).to_numpy(), (texts["end"] - texts["first"]).to_numpy()
    sums = {
        name: statistics.text_sums(_log_probabilities(config, name), firsts)
        for claim in config.claims
        for name in (claim.better, claim.than)
    }
    lines = []
    for claim in config.claims:
        ratio = statistics.ratio(sums[claim.than], sums[claim.better], tokens)
        lines.append(
            {
                "claim": claim.says,
                "better": claim.better,
                "than": claim.than,
                "paper": claim.paper,
                "ours": ratio.value - 1,
                "low": ratio.low - 1,
                "high": ratio.high - 1,
                "holds": verdict(claim, ratio.low - 1, ratio.high - 1),
            }
        )
    table = pd.DataFrame(lines)
    out.mkdir(parents=True, exist_ok=True)
    table.to_csv(out / "claims.csv", index=False, float_format="%.4f")
    (out / "claims.md").write_text(markdown(table, config.split), encoding="utf-8")
    log.info("%s", table["holds"].value_counts().to_dict())


def _log_probabilities(config: Config, name: str) -> np.ndarray:
    """A model's treated log-probabilities (T,), the mean over its seeds."""
    folders = [Path(config.predictions, name, str(seed)) for seed in config.seeds]
    there = [folder for folder in folders if folder.is_dir()]
    if not there:
        raise InputError(f"no predictions in {folders[0]}: run the stage that makes {name}")
    return np.mean([store.read_predictions(folder, config.split) for folder in there], axis=0, dtype=np.float64)


def verdict(claim: Claim, low: float, high: float) -> str:
    """yes or no where the whole interval says so, else open."""
    if claim.within is not None:
        if max(abs(low), abs(high)) <= claim.within:
            return "yes"
        return "no" if low > claim.within or high < -claim.within else "open"
    if low > claim.least:
        return "yes"
    return "no" if high <= claim.least else "open"


def markdown(table: pd.DataFrame, split: str) -> str:
    """The claims as a Markdown table with a line on how to read it."""
    read = pd.DataFrame(
        {
            "the paper says": table["claim"],
            "compared": table["than"] + " over " + table["better"],
            "paper": [f"{value:+.1%}" if pd.notna(value) else "" for value in table["paper"]],
            "ours": [f"{value:+.1%}" for value in table["ours"]],
            "95 % interval": [
                f"{low:+.1%} to {high:+.1%}" for low, high in zip(table["low"], table["high"], strict=True)
            ],
            "holds": table["holds"],
        }
    )
    head = (
        f"Perplexity of one model over another's on {split}, less 1. The intervals resample the texts, both models on "
        "the same ones; `open`: the interval holds both answers. Networks: the mean log-probability over seeds.\n\n"
    )
    return head + read.to_markdown(index=False, disable_numparse=True) + "\n"


if __name__ == "__main__":
    app.run("claims", Config, main)
