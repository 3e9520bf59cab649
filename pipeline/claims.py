"""Stage claims: what the papers say about their results, whether it holds here, and what we found beyond them.

A claim is judged on both splits and both readings, for the training procedure whose table is given. What it asks for
follows from the figures that the paper prints, give or take their rounding: no threshold is written by hand.
"""

import itertools
import logging
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.data.corpus import Corpus, read_corpus
from pipeline.data.errors import InputError
from pipeline.reporting import by_text, claims_text, resampling
from pipeline.reporting.table import Row, Table
from pipeline.running import app

SPLITS = ("valid", "test")
ARRAYS = {"raw": "raw/{}", "with share": "{}"}  # of a reading
EACH = list(itertools.product(SPLITS, ARRAYS))
KINDS = ("better", "as much", "at most")

log = logging.getLogger(__name__)


@dataclass
class Claim:
    """One claim: how far a model's perplexity is below another's.

    Of several models it is about the one that validation has best: by the paper's figures for what the paper claims, by
    ours for what holds here.
    """

    says: str  # in our words
    where: str  # section or page
    better: list[str]  # models of the table
    than: list[str]
    kind: str = "better"  # by anything at all; `as much`: by what the paper's figures show or more; `at most`: or less
    figure: str = ""  # that the paper puts it in

    def __post_init__(self):
        if self.kind not in KINDS:
            raise InputError(f"claims: {self.says!r} is of kind {self.kind}: choose {', '.join(KINDS)}")


@dataclass
class Epochs:
    """A claim that one network converges sooner than another; a training has converged near its best perplexity."""

    says: str  # in our words
    where: str  # section or page
    quick: str  # a network of the table
    slow: str  # a network of the table
    figure: str  # the paper's words
    least: float  # at least this share more epochs: the wording's
    near: float = 0.01  # within this share of the best validation perplexity


@dataclass
class Falling:
    """A claim that a network does not overfit: validation perplexity falls to the last epoch."""

    says: str  # in our words
    where: str  # section or page
    name: str  # a network of the table
    figure: str = ""  # the paper's words


@dataclass
class Pair:
    """What the papers do not compare: a model and another."""

    says: str  # what is compared
    better: str  # a model of the table
    than: str  # a model of the table


@dataclass
class Incomparable:
    """What the paper says and this project can't judge, and why."""

    says: str  # in our words
    where: str  # section or page
    why: str  # nothing here compares with it


@dataclass
class Config:
    """conf/claims.yaml."""

    claims: list[Claim]
    exploratory: list[Pair]  # what the papers do not compare
    table: Table
    data: str
    out: str
    timing: str
    epochs: list[Epochs] = field(default_factory=list)  # claims that one network needs fewer epochs than another
    falling: list[Falling] = field(default_factory=list)  # claims that a network does not overfit
    incomparable: list[Incomparable] = field(default_factory=list)  # what can't be judged here, and why


def main(config: Config) -> None:
    """Writes claims.csv, exploratory.csv and claims.md into config.out."""
    models, out = Models(config.table, read_corpus(config.data)), Path(config.out)
    judged = [line for claim in config.claims for line in judge(claim, models)]
    judged += [sooner(claim, models) for claim in config.epochs]
    judged += [still_falling(claim, models) for claim in config.falling]
    claims = pd.DataFrame(judged)
    pairs = pd.DataFrame([line for pair in config.exploratory for line in compare(pair, models)])
    out.mkdir(parents=True, exist_ok=True)
    claims.to_csv(out / "claims.csv", index=False, float_format="%.6f")
    pairs.to_csv(out / "exploratory.csv", index=False, float_format="%.6f")
    text = claims_text.markdown(config.table.training, claims, pairs, config.incomparable)
    (out / "claims.md").write_text(text, encoding="utf-8")
    log.info("%s", claims["holds"].value_counts().to_dict())


class Models:
    """The models of a table, as claims ask for them."""

    def __init__(self, table: Table, corpus: Corpus):
        self.table = table
        self.texts = {split: by_text.texts_of(corpus, split) for split in SPLITS}

    def best(self, names: list[str]) -> str:
        """The one with the lowest raw perplexity on validation, in the geometric mean over seeds."""
        if len(names) == 1:
            return names[0]
        return max(names, key=lambda name: self.sums(name, "raw/valid").mean(0).sum())

    def sums(self, name: str, array: str) -> np.ndarray:
        """Log-probability of each text by each seed, (seeds, texts)."""
        if name not in self.table.names:
            raise InputError(f"claims: {name} is not in the table of {self.table.dvc}")
        return by_text.sums(self.texts[array.removeprefix("raw/")], self.table.folders(name), array)

    def curve(self, name: str) -> pd.Series:
        """A network's validation perplexity by epoch, of the first seed."""
        file = self.table.folders(name)[0] / "curve.csv"
        if not file.is_file():
            raise InputError(f"no learning curve in {file.parent}: {name} is no network")
        return pd.read_csv(file).set_index("epoch")["valid_perplexity"]


def judge(claim: Claim, models: Models) -> list[dict]:
    """A line for each split and reading."""
    better, than = models.best(claim.better), models.best(claim.than)
    lines = []
    for split, reading in EACH:
        paper, low, high = printed(claim, models.table.rows, split)
        least, most = {"better": (0, math.inf), "as much": (low, math.inf), "at most": (-math.inf, high)}[claim.kind]
        line = asdict(claim) | measured(better, than, split, reading, models)
        asked = {"of": "perplexity", "paper": paper, "least": least, "most": most}
        lines.append(line | asked | {"holds": verdict(line["low"], line["high"], least, most)})
    return lines


def measured(better: str, than: str, split: str, reading: str, models: Models) -> dict:
    """The perplexity of `than` over that of `better`, less 1, with its interval, and how many seeds stand behind it."""
    both = [models.sums(name, ARRAYS[reading].format(split)) for name in (than, better)]
    ratio = resampling.ratio_of_seeds(*both, models.texts[split]["tokens"].to_numpy())
    compared = {"better": better, "than": than, "split": split, "reading": reading}
    figures = {"ours": ratio.value - 1, "low": ratio.low - 1, "high": ratio.high - 1}
    return compared | figures | {"seeds": max(len(each) for each in both)}


def printed(claim: Claim, rows: dict[str, Row], split: str) -> tuple[float, float, float]:
    """What the paper's figures say: the perplexity of `than` over that of `better`, less 1, with the least and the most
    that figures rounded so can stand for. Of test where it prints none of validation; NaN where it prints none at all.
    """

    def figure(names: list[str]) -> float:
        known = [rows[name] for name in names if name in rows and rows[name].test is not None]
        if not known:
            return math.nan
        best = min(known, key=lambda row: row.test if row.valid is None else row.valid)
        return best.test if split == "test" or best.valid is None else best.valid

    better, than = figure(claim.better), figure(claim.than)
    if claim.kind != "better" and not better + than > 0:
        raise InputError(f"claims: {claim.says!r} is of kind {claim.kind}, and the paper prints no figures for it")
    half = 0.5  # of the last digit; one figure of NIPS 2000 alone has a decimal
    return than / better - 1, (than - half) / (better + half) - 1, (than + half) / (better - half) - 1


def verdict(low: float, high: float, least: float, most: float) -> str:
    """yes or no where the whole interval says so, else open."""
    if least < low and high <= most:
        return "yes"
    return "no" if high <= least or low > most else "open"


def sooner(claim: Epochs, models: Models) -> dict:
    """A line: the epochs of `slow` over those of `quick`, less 1, and whether the claim holds.

    A curve whose last epoch is its best was cut off before its end: it may have needed more epochs than it shows. So
    of a quick network that was cut off nothing can be said, and of a slow one only that it needed at least so many.
    """
    quick, slow = models.curve(claim.quick), models.curve(claim.slow)
    more = epochs_to_converge(slow, claim.near) / epochs_to_converge(quick, claim.near) - 1
    if quick.idxmin() == quick.index[-1]:
        holds = "open"
    elif more >= claim.least:
        holds = "yes"
    else:
        holds = "open" if slow.idxmin() == slow.index[-1] else "no"
    compared = {"better": claim.quick, "than": claim.slow, "of": "epochs to converge"}
    return said(claim) | compared | {"least": claim.least, "ours": more, "holds": holds}


def epochs_to_converge(curve: pd.Series, near: float) -> int:
    """Epochs until validation perplexity is within a share of its best."""
    return int((curve <= curve.min() * (1 + near)).idxmax())


def still_falling(claim: Falling, models: Models) -> dict:
    """A line: the best validation perplexity before the last epoch over that of the last, less 1."""
    curve = models.curve(claim.name)
    less = curve.iloc[:-1].min() / curve.iloc[-1] - 1
    compared = {"better": f"{claim.name}, last epoch", "than": "its best before", "of": "validation perplexity"}
    return said(claim) | compared | {"least": 0.0, "ours": less, "holds": "yes" if less > 0 else "no"}


def said(claim: Epochs | Falling) -> dict:
    """What a line has of a claim that is read off learning curves: of validation, one seed, no interval."""
    return {"says": claim.says, "where": claim.where, "figure": claim.figure, "split": "valid", "seeds": 1}


def compare(pair: Pair, models: Models) -> list[dict]:
    """A line for each split and reading, without a verdict."""
    return [asdict(pair) | measured(pair.better, pair.than, split, reading, models) for split, reading in EACH]


if __name__ == "__main__":
    app.run("claims", Config, main, timed=True)
