"""The papers' claims on the page: how many hold, and each with its figures."""

import itertools
import re
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from pipeline.webpage import markdown

EACH = list(itertools.product(("valid", "test"), ("raw", "with share")))  # the splits and readings of a verdict
VERDICTS = ("yes", "no", "open")
KINDS = {"why": "incomparable", "compared": "exploratory", "holds": "curves", "asks": "perplexities"}  # by a column
HEADS = {"better": "model", "than": "compared with", "other": "compared with", "here": "found here"}
NAMING = ("better", "than", "model", "other", "here")  # columns that name models
MEASURED = re.compile(r"(\S+ %)(?: \(([^)]*)\))?(?:, (yes|no|open))?(?:, one seed)?")


@dataclass
class Judged:
    """The claims of one table, by one training procedure."""

    name: str  # of the table
    title: str
    training: str  # the procedure in words
    seeds: int
    perplexities: list[dict[str, int]]  # how many claims have each verdict, for each of EACH
    curves: dict[str, int]  # the same of the claims that learning curves decide
    tables: dict[str, dict]  # by the values of KINDS, those that are there


def read(folder: Path, title: str, called: dict[str, str]) -> Judged:
    """What the stage claims left in a folder; called: what the page calls each model."""
    text = (folder / "claims.md").read_text(encoding="utf-8")
    training, seeds = re.search(r"\ANetworks trained by (.*); seeds: (\d+)\.$", text, re.MULTILINE).groups()
    verdicts = pd.read_csv(folder / "claims.csv").groupby(["split", "reading"])["holds"]
    curves = folder / "curves.csv"
    return Judged(
        folder.name,
        title,
        training,
        int(seeds),
        [count(verdicts.get_group(each)) for each in EACH],
        count(pd.read_csv(curves)["holds"] if curves.is_file() else pd.Series(dtype=str)),
        tables(text, called),
    )


def exploratory(folder: Path, called: dict[str, str]) -> dict | None:
    """The pairs that the papers do not compare, as in `read`, from the stage's files; None where there are none."""
    file = folder / "claims.md"
    return tables(file.read_text(encoding="utf-8"), called).get("exploratory") if file.is_file() else None


def tables(text: str, called: dict[str, str]) -> dict[str, dict]:
    """The tables of claims.md by the values of KINDS, those that are there."""
    return {kind(piece["columns"]): laid_out(piece, called) for piece in markdown.pieces(text) if "rows" in piece}


def count(verdicts: pd.Series) -> dict[str, int]:
    """How many of each verdict."""
    return {verdict: int((verdicts == verdict).sum()) for verdict in VERDICTS}


def kind(columns: list[str]) -> str:
    """Which of the four tables of claims.md has these columns."""
    return next(kind for column, kind in KINDS.items() if column in columns)


def laid_out(table: dict, called: dict[str, str]) -> dict:
    """A table of claims.md with our models' labels; for its cells see `cell`."""
    columns = table["columns"]
    rows = [[cell(column, text, called) for column, text in zip(columns, row, strict=True)] for row in table["rows"]]
    heads = [HEADS.get(column, column.replace("valid,", "validation,")) for column in columns]
    return table | {"columns": heads, "rows": rows}


def cell(column: str, text: str, called: dict[str, str]) -> str | dict:
    """A measured figure as value, interval and verdict, all else as text. The page says `one seed` once for a
    table, not in each cell."""
    if column == "here":  # a sentence
        called = {name: f"“{label}”" for name, label in called.items()}
    if column in NAMING:
        text = markdown.renamed(text, called)
    text = re.sub(r"(?<=\d)%", " %", text).replace(" % to ", " to ")
    found = MEASURED.fullmatch(text) if column.startswith(("valid,", "test,")) else None
    return dict(zip(("value", "interval", "verdict"), found.groups(), strict=True)) if found else text
