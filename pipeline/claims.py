"""Stage claims: what the papers claim, whether it holds here, and what we found beyond the papers.

A claim about perplexities is judged for the models of one table, on validation and test, with raw figures and with
figures corrected for unseen words. What it asks for follows from the figures that the paper prints, give or take their
rounding. A claim about epochs asks for what the paper says in words.
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
from pipeline.data.predictions import EVALUATIONS
from pipeline.reporting import claims_text, resampling
from pipeline.reporting.table import EVAL_SPLITS, folders_of, shape
from pipeline.running import app

CASES = list(itertools.product(EVAL_SPLITS, EVALUATIONS))  # in which a claim is judged

log = logging.getLogger(__name__)


def main(config: Claims) -> None:
    """Writes claims.csv, curves.csv, exploratory.csv, incomparable.csv and claims.md into config.out."""
    models = Models(config.table, read_corpus(config.data))
    out = Path(config.out)
    frames = {
        "claims": pd.DataFrame(line for claim in config.claims for line in judge(claim, models)),
        "curves": pd.DataFrame(
            [judge_epochs(claim, models) for claim in config.epochs]
            + [judge_falling(claim, models) for claim in config.falling]
        ),
        "exploratory": pd.DataFrame(line for pair in config.exploratory for line in compare(pair, models)),
        "incomparable": pd.DataFrame(claim.model_dump() for claim in config.incomparable),
    }
    out.mkdir(parents=True, exist_ok=True)
    for name, lines in frames.items():
        if len(lines):
            lines.to_csv(out / f"{name}.csv", index=False, float_format="%.6f")
    (out / "claims.md").write_text(claims_text.page(config.table, frames), encoding="utf-8")
    verdicts = pd.concat(lines.get("holds", pd.Series(dtype=str)) for lines in frames.values())
    log.info("%s", verdicts.value_counts().to_dict())


class Models:
    """The models of a table, with what the claims compare: log-probabilities of texts, and learning curves."""

    def __init__(self, table: Table, corpus: Corpus):
        self.table = table
        self.parts = {split: resampling.parts_of(corpus, split) for split in EVAL_SPLITS}

    def folders(self, name: str) -> list[Path]:
        """The folder of each seed of a model. Raises InputError for a model that the table lacks."""
        if name not in self.table.names:
            raise InputError(f"claims: {name} is not in the table of {self.table.dvc}")
        return folders_of(self.table, name)

    def seeds(self, name: str) -> float:
        """The number of seeds of a network, or of a mixture with a network; NaN for n-grams, which have no seed."""
        folders = self.folders(name)
        return len(folders) if shape(folders[0], self.table.predictions)["model"] == "network" else math.nan

    def best(self, names: list[str], evaluation: str = "raw") -> str:
        """The model with the lowest validation perplexity, geometric mean over seeds."""
        if len(names) == 1:
            return names[0]
        return max(names, key=lambda name: self.sums(name, EVALUATIONS[evaluation].format("valid")).mean(0).sum())

    def sums(self, name: str, array: str) -> np.ndarray:
        """Log-probability of each text by each seed, (seeds, texts). array: such as raw/valid."""
        return resampling.sums(self.parts[array.removeprefix("raw/")].table, self.folders(name), array)

    def curve(self, name: str) -> pd.Series:
        """Validation perplexity of a network's first seed, by epoch. Raises InputError for a model without epochs."""
        file = self.folders(name)[0] / "curve.csv"
        if not file.is_file():
            raise InputError(f"no learning curve in {file.parent}: {name} is no network")
        return pd.read_csv(file).set_index("epoch")["valid_perplexity"]


def judge(claim: Claim, models: Models) -> list[dict]:
    """One line per split and evaluation: the measured ratio, the bounds, and the verdict."""
    lines = []
    for split, evaluation in CASES:
        better, than = (
            models.best(names, evaluation if claim.by_evaluation else "raw") for names in (claim.better, claim.than)
        )
        paper, low, high = printed_gain(claim, models.table.rows, split)
        least, most = {"better": (0, math.inf), "as much": (low, math.inf), "at most": (-math.inf, high)}[claim.kind]
        line = claim.model_dump() | measure(better, than, split=split, evaluation=evaluation, models=models)
        bounds = {"paper": paper, "least": least, "most": most}
        holds = verdict(line["low"], line["high"], least=least, most=most)
        lines.append(line | bounds | {"holds": holds})
    return lines


def measure(better: str, than: str, split: str, evaluation: str, models: Models) -> dict:
    """Our gain: the perplexity of `than` over that of `better`, less 1, with its interval. seeds: of the two models'
    numbers of seeds the smaller."""
    array = EVALUATIONS[evaluation].format(split)
    parts = models.parts[split]
    ratio = resampling.ratio_of_seeds(
        models.sums(than, array), models.sums(better, array), parts.tokens, few=not parts.are_texts
    )
    case = {"better": better, "than": than, "split": split, "evaluation": evaluation}
    figures = {"ours": ratio.value - 1, "low": ratio.low - 1, "high": ratio.high - 1}
    return case | figures | {"seeds": np.fmin(models.seeds(better), models.seeds(than))}


def printed_gain(claim: Claim, rows: dict[str, Row], split: str) -> tuple[float, float, float]:
    """The gain by the paper's figures: the perplexity of `than` over that of `better`, less 1; then the least and the
    most that it can be before rounding. NaN where the paper prints no figures.

    Of several models the best on validation is compared. Where the paper lacks validation figures for any of the
    models, those of test take their place, in the choice too. Raises InputError where a claim needs figures and has
    none.
    """
    sides = [[rows[name] for name in names if name in rows] for names in (claim.better, claim.than)]
    sides = [[row for row in side if row.test is not None] for side in sides]
    if not all(sides):
        if claim.kind != "better":
            raise InputError(f"claims: {claim.says!r} is of kind {claim.kind}, and the paper prints no figures for it")
        return math.nan, math.nan, math.nan
    has_valid = all(row.valid is not None for side in sides for row in side)
    best = [min(side, key=lambda row: row.valid if has_valid else row.test) for side in sides]
    better, than = (row.valid if has_valid and split == "valid" else row.test for row in best)
    least, most = ((than - sign * half_digit(than)) / (better + sign * half_digit(better)) - 1 for sign in (1, -1))
    return than / better - 1, least, most


def half_digit(figure: float) -> float:
    """Half a unit of a printed figure's last digit: 284 can be anything from 283.5 to 284.5."""
    return 0.5 * 10.0 ** Decimal(f"{figure:g}").as_tuple().exponent


def verdict(low: float, high: float, least: float, most: float) -> str:
    """yes where the whole interval lies within the bounds, no where all of it lies outside, else open."""
    if least < low and high <= most:
        return "yes"
    return "no" if high <= least or low > most else "open"


def judge_epochs(claim: Epochs, models: Models) -> dict:
    """The line of a claim that the network `slow` takes at least so many more epochs to converge than `quick`.

    A training that was cut off may need more epochs than it has. If that is `slow`, the verdict can be yes, but not no;
    if it is `quick`, it can be no, but not yes.
    """
    curves = models.curve(claim.slow), models.curve(claim.quick)
    slow, quick = (epochs_to_converge(curve, claim.near) for curve in curves)
    slow_cut, quick_cut = (cut_off(curve, claim.near) for curve in curves)
    holds, doubt = ("yes", quick_cut) if slow / quick - 1 >= claim.least else ("no", slow_cut)
    epochs = f"{slow}{' or more' * slow_cut} against {quick}{' or more' * quick_cut}"
    finding = f"epochs to within {claim.near:.0%} of its best: {claim.slow} {epochs} of {claim.quick}"
    asks = f"{claim.least:.0%} more epochs"
    return curve_line(claim, asks=asks, finding=finding, holds="open" if doubt else holds)


def epochs_to_converge(curve: pd.Series, near: float) -> int:
    """Epochs until validation perplexity is within a share (`near`) of its best."""
    return int((curve <= curve.min() * (1 + near)).idxmax())


def cut_off(curve: pd.Series, near: float) -> bool:
    """Whether a training ended too early: its last epoch still gains more than near / 10."""
    return len(curve) < 2 or bool(curve.iloc[-2] / curve.iloc[-1] - 1 > near / 10)


def judge_falling(claim: Falling, models: Models) -> dict:
    """The line of a claim that validation perplexity falls to the last epoch. Its gain: the best perplexity before the
    last epoch over that of the last, less 1."""
    curve = models.curve(claim.name)
    gain = curve.iloc[:-1].min() / curve.iloc[-1] - 1
    finding = f"{claim.name}: the best epoch before the last is {gain:+.2%} above the last"
    return curve_line(claim, asks="the last epoch is the best", finding=finding, holds="yes" if gain > 0 else "no")


def curve_line(claim: Epochs | Falling, asks: str, finding: str, holds: str) -> dict:
    """The line of a claim about learning curves."""
    says = {"says": claim.says, "where": claim.where, "paper": claim.figure}
    return says | {"asks": asks, "here": finding, "holds": holds}


def compare(pair: Pair, models: Models) -> list[dict]:
    """One line per split and evaluation, without a verdict."""
    return [
        pair.model_dump() | measure(pair.better, pair.than, split=split, evaluation=evaluation, models=models)
        for split, evaluation in CASES
    ]


if __name__ == "__main__":
    app.run("claims", main, timed=True)
