"""Figures as people read them: a column is declared once, with its head and its format, and a view of a table is a list
of columns. The same cells become Markdown, LaTeX and the page."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

YES_NO = {True: "yes", False: "no"}


class Cell(NamedTuple):
    """A figure as text."""

    text: str = ""
    ends: str = ""  # of its interval
    more: str = ""  # what is said of it; yes, no and open are verdicts, which the page colours

    def __str__(self) -> str:
        return ", ".join(filter(None, [f"{self.text} ({self.ends})" if self.ends else self.text, self.more]))


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str  # in the CSV files; NAME / OTHER: both in one cell
    head: str = ""  # for readers
    form: str = "{:.1f}"
    of: Callable | None = None  # how the report computes it, from a table.Model; None: from other columns
    part: str = ""  # `text` or `ends` alone

    def cell(self, line: dict) -> Cell:
        """A row's: with ± its standard deviation where there is NAME_sd, its interval where there is NAME_low."""
        cells = [self._figure(line, name) for name in self.name.split(" / ")]
        if len(cells) > 1:
            return Cell(" / ".join(cell.text for cell in cells) if cells[-1].text else "")
        text, ends, _ = cells[0]
        return {"text": Cell(text), "ends": Cell(ends)}.get(self.part, Cell(text, ends))

    def _figure(self, line: dict, name: str) -> Cell:
        value, sd, low, high = (line.get(f"{name}{ending}") for ending in ("", "_sd", "_low", "_high"))
        if pd.isna(value):
            return Cell()
        if isinstance(value, str):
            return Cell(value)
        text = YES_NO[bool(value)] if pd.api.types.is_bool(value) else self.form.format(value)
        spread = "" if pd.isna(sd) else f" ± {self.form.format(sd)}"
        return Cell(text + spread, "" if pd.isna(low) else f"{self.form.format(low)} to {self.form.format(high)}")


def laid_out(frame: pd.DataFrame, columns: Iterable[Column]) -> pd.DataFrame:
    """A view: a line a row, a column each of these that the frame has, of cells."""
    lines, there = frame.to_dict("records"), [each for each in columns if each.name.split(" / ")[0] in frame]
    return pd.DataFrame({each.head: [each.cell(line) for line in lines] for each in there}, frame.index, dtype=object)


def markdown(view: pd.DataFrame) -> str:
    """A table of cells, or of text, in Markdown."""
    align = ["left"] + ["right"] * (len(view.columns) - 1)
    return view.map(str).to_markdown(index=False, disable_numparse=True, colalign=align) + "\n"


def latex(view: pd.DataFrame) -> str:
    """The same as a LaTeX tabular for booktabs."""
    form = "l" + "r" * (len(view.columns) - 1)
    return view.map(str).to_latex(index=False, column_format=form, escape=True).replace("±", r"$\pm$")


def plain(value: str | float) -> str:
    """Text as it is; a number with four digits, or with all before the point: exponents hide what is to be compared."""
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
