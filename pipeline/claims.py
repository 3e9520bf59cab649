"""Stage claims: what the papers say about their results, whether it holds here, and what we found beyond them.

A claim about perplexities is judged on both splits and both readings, for the training procedure whose table is given.
What it asks for follows from the figures that the paper prints, give or take their rounding. A claim about epochs asks
for what the paper says in words.
"""

import itertools
import logging
import math
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.config.claims import Claim, Claims, Epochs, Falling, Pair
from pipeline.config.tables import Row, Table
from pipeline.core.common.errors import InputError
from pipeline.data.corpus import Corpus, read_corpus
from pipeline.data.predictions import READINGS
from pipeline.reporting import claims_text, resampling
from pipeline.reporting.table import BOTH, folders_of, shape
from pipeline.running import app

EACH = list(itertools.product(BOTH, READINGS))

log = logging.getLogger(__name__)


def main(config: Claims) -> None:
    """Writes claims.csv, curves.csv, exploratory.csv, incomparable.csv and claims.md into config.out."""
    models, out = Models(config.table, read_corpus(config.data)), Path(config.out)
    frames = {
        "claims": pd.DataFrame(line for claim in config.claims for line in judge(claim, models)),
        "curves": pd.DataFrame(
            [sooner(claim, models) for claim in config.epochs]
            + [still_falling(claim, models) for claim in config.falling]
        ),
        "exploratory": pd.DataFrame(line for pair in config.exploratory for line in compare(pair, models)),
        "incomparable": pd.DataFrame(each.model_dump() for each in config.incomparable),
    }
    out.mkdir(parents=True, exist_ok=True)
    for name, lines in frames.items():
        if len(lines):
            lines.to_csv(out / f"{name}.csv", index=False, float_format="%.6f")
    (out / "claims.md").write_text(claims_text.page(config.table, frames), encoding="utf-8")
    judged = pd.concat(lines.get("holds", pd.Series(dtype=str)) for lines in frames.values())
    log.info("%s", judged.value_counts().to_dict())


class Models:
    """The models of a table, as claims ask for them."""

    def __init__(self, table: Table, corpus: Corpus):
        self.table = table
        self.texts = {split: resampling.texts_of(corpus, split) for split in BOTH}

    def folders(self, name: str) -> list[Path]:
        """A model's folder of each seed."""
        if name not in self.table.names:
            raise InputError(f"claims: {name} is not in the table of {self.table.dvc}")
        return folders_of(self.table, name)

    def seeds(self, name: str) -> float:
        """Of how many seeds a network or a mixture with one is; NaN for n-grams, which have no randomness."""
        folders = self.folders(name)
        return len(folders) if shape(folders[0], self.table.predictions)["model"] == "network" else math.nan

    def best(self, names: list[str], reading: str = "raw") -> str:
        """The one with the lowest perplexity on validation, in the geometric mean over seeds."""
        if len(names) == 1:
            return names[0]
        return max(names, key=lambda name: self.sums(name, READINGS[reading].format("valid")).mean(0).sum())

    def sums(self, name: str, array: str) -> np.ndarray:
        """Log-probability of each text by each seed, (seeds, texts)."""
        return resampling.sums(self.texts[array.removeprefix("raw/")], self.folders(name), array)

    def curve(self, name: str) -> pd.Series:
        """A network's validation perplexity by epoch, of the first seed."""
        file = self.folders(name)[0] / "curve.csv"
        if not file.is_file():
            raise InputError(f"no learning curve in {file.parent}: {name} is no network")
        return pd.read_csv(file).set_index("epoch")["valid_perplexity"]


def judge(claim: Claim, models: Models) -> list[dict]:
    """A line for each split and reading."""
    lines = []
    for split, reading in EACH:
        better, than = (
            models.best(names, reading if claim.by_reading else "raw") for names in (claim.better, claim.than)
        )
        paper, low, high = printed(claim, models.table.rows, split)
        least, most = {"better": (0, math.inf), "as much": (low, math.inf), "at most": (-math.inf, high)}[claim.kind]
        line = claim.model_dump() | measured(better, than, split, reading, models)
        asked = {"paper": paper, "least": least, "most": most}
        lines.append(line | asked | {"holds": verdict(line["low"], line["high"], least, most)})
    return lines


def measured(better: str, than: str, split: str, reading: str, models: Models) -> dict:
    """The perplexity of `than` over that of `better`, less 1, with its interval; of how many seeds the network with the
    fewest is."""
    both = [models.sums(name, READINGS[reading].format(split)) for name in (than, better)]
    ratio = resampling.ratio_of_seeds(*both, models.texts[split]["tokens"].to_numpy())
    compared = {"better": better, "than": than, "split": split, "reading": reading}
    figures = {"ours": ratio.value - 1, "low": ratio.low - 1, "high": ratio.high - 1}
    return compared | figures | {"seeds": np.fmin(models.seeds(better), models.seeds(than))}


def printed(claim: Claim, rows: dict[str, Row], split: str) -> tuple[float, float, float]:
    """What the paper's figures say: the perplexity of `than` over that of `better`, less 1, with the least and the most
    that figures rounded so can stand for. Of test, and so is the choice of the best, where it does not print validation
    for all of these models; NaN where it prints nothing.
    """
    sides = [[rows[name] for name in names if name in rows] for names in (claim.better, claim.than)]
    sides = [[row for row in side if row.test is not None] for side in sides]
    if not all(sides):
        if claim.kind != "better":
            raise InputError(f"claims: {claim.says!r} is of kind {claim.kind}, and the paper prints no figures for it")
        return math.nan, math.nan, math.nan
    validated = all(row.valid is not None for side in sides for row in side)
    best = [min(side, key=lambda row: row.valid if validated else row.test) for side in sides]
    better, than = (row.valid if validated and split == "valid" else row.test for row in best)
    least, most = ((than - sign * half(than)) / (better + sign * half(better)) - 1 for sign in (1, -1))
    return than / better - 1, least, most


def half(figure: float) -> float:
    """Half of a printed figure's last digit: 284 may stand for 283.5 to 284.5."""
    return 0.5 * 10.0 ** Decimal(f"{figure:g}").as_tuple().exponent


def verdict(low: float, high: float, least: float, most: float) -> str:
    """yes or no where the whole interval says so, else open."""
    if least < low and high <= most:
        return "yes"
    return "no" if high <= least or low > most else "open"


def sooner(claim: Epochs, models: Models) -> dict:
    """A line: the epochs that both take to converge, and whether `slow` takes so many more.

    Epochs of a training that was cut off are the least that it needed: of `slow` enough for a yes and too little for a
    no, of `quick` the other way round.
    """
    curves = models.curve(claim.slow), models.curve(claim.quick)
    slow, quick = (epochs_to_converge(curve, claim.near) for curve in curves)
    slow_cut, quick_cut = (cut_off(curve, claim.near) for curve in curves)
    holds, unless = ("yes", quick_cut) if slow / quick - 1 >= claim.least else ("no", slow_cut)
    needed = f"{slow}{' or more' * slow_cut} against {quick}{' or more' * quick_cut}"
    here = f"epochs to within {claim.near:.0%} of its best: {claim.slow} {needed} of {claim.quick}"
    return of_curve(claim, f"{claim.least:.0%} more epochs", here, "open" if unless else holds)


def epochs_to_converge(curve: pd.Series, near: float) -> int:
    """Epochs until validation perplexity is within a share of its best."""
    return int((curve <= curve.min() * (1 + near)).idxmax())


def cut_off(curve: pd.Series, near: float) -> bool:
    """Whether the last epoch still gains a tenth of what counts as near the best."""
    return len(curve) < 2 or bool(curve.iloc[-2] / curve.iloc[-1] - 1 > near / 10)


def still_falling(claim: Falling, models: Models) -> dict:
    """A line: the best validation perplexity before the last epoch over that of the last, less 1."""
    curve = models.curve(claim.name)
    less = curve.iloc[:-1].min() / curve.iloc[-1] - 1
    here = f"{claim.name}: the best epoch before the last is {less:+.2%} above the last"
    return of_curve(claim, "the last epoch is the best", here, "yes" if less > 0 else "no")


def of_curve(claim: Epochs | Falling, asks: str, here: str, holds: str) -> dict:
    """The line of a claim about learning curves."""
    return {"says": claim.says, "where": claim.where, "paper": claim.figure, "asks": asks, "here": here, "holds": holds}


def compare(pair: Pair, models: Models) -> list[dict]:
    """A line for each split and reading, without a verdict."""
    return [pair.model_dump() | measured(pair.better, pair.than, split, reading, models) for split, reading in EACH]


if __name__ == "__main__":
    app.run("claims", main, timed=True)
