"""Tables for readers: chosen columns of a CSV file, with each figure as text, for Markdown, LaTeX and the page.
views.yaml says which columns of each table are shown."""

import math
import re
from pathlib import Path

import pandas as pd
import yaml

VIEWS = yaml.safe_load(Path(__file__).with_name("views.yaml").read_text(encoding="utf-8"))
YES_NO = {True: "yes", False: "no"}
SIZES = {"n": "n:.0f", "c": "c:.0f", "h": "h:.0f", "m": "m:.0f", "direct": "direct", "mixed": "mix"}  # of a row


def laid_out(frame: pd.DataFrame, view: dict[str, str]) -> pd.DataFrame:
    """The frame as text: one line per row, one column per head of the view. Heads whose columns the frame lacks are
    left out."""
    columns = {}
    lines = frame.to_dict("records")
    for head, cell in view.items():
        names, _, form = cell.partition(":")
        first, separator, second = re.fullmatch(r"(.+?)(?:( / | to | \()(.+?)\)?)?", names).groups("")
        if first in frame:
            columns[head] = [_figure(line, first, form) for line in lines]
        if first in frame and second:
            pairs = zip(columns[head], [_figure(line, second, form) for line in lines], strict=True)
            columns[head] = [_cell(text, separator, addition) for text, addition in pairs]
    return pd.DataFrame(columns, frame.index, dtype=object)


def _cell(first: str, separator: str, second: str) -> str:
    """Two figures in one cell. Where the second is missing: the first alone if the second would stand in brackets, else
    nothing."""
    if separator == " (":
        return f"{first} ({second})" if second else first
    return f"{first}{separator}{second}" if second else ""


def _figure(line: dict, name: str, form: str) -> str:
    """A figure as text: with ± its standard deviation where there is NAME_sd, and with its interval in brackets where
    there is NAME_low."""
    value, sd, low, high = (line.get(f"{name}{ending}") for ending in ("", "_sd", "_low", "_high"))
    if isinstance(value, str):
        return value
    if pd.isna(value):
        return ""
    if value == math.inf:
        return "all"
    form = form or ".1f"
    text = YES_NO[bool(value)] if pd.api.types.is_bool(value) else format(value, form)
    text += "" if pd.isna(sd) else f" ± {sd:{form}}"
    return text + ("" if pd.isna(low) else f" ({low:{form}} to {high:{form}})")


def replication(trainings: dict[str, str]) -> dict[str, str]:
    """The view of Table 1 by several trainings. trainings: each training's label, by the prefix of its columns."""
    ratios = {
        f"{label}, over the paper": _two_splits(prefix, "_raw_over", ".3f") for prefix, label in trainings.items()
    }
    minutes = {f"{label}, CPU minutes": f"{prefix}_minutes:.0f" for prefix, label in trainings.items()}
    return {"row": "row"} | SIZES | _perplexities(trainings) | ratios | minutes


def answer(trainings: dict[str, str]) -> dict[str, str]:
    """The view of README's table: the paper's perplexities and each training's."""
    return {"validation / test": "row"} | SIZES | _perplexities(trainings)


def _perplexities(trainings: dict[str, str]) -> dict[str, str]:
    """The paper's perplexities and each training's, validation / test."""
    ours = {f"ours, {label}": _two_splits(prefix, "_raw", ".1f") for prefix, label in trainings.items()}
    return {"the paper": _two_splits("paper", "", "g")} | ours


def comparisons(trainings: dict[str, str]) -> dict[str, str]:
    """The view of the comparisons that the paper makes in words."""
    gains = {f"ours, {label}": _two_splits(prefix, "_raw_gain", "+.1%") for prefix, label in trainings.items()}
    return {"gain, validation / test": "comparison", "the paper": _two_splits("paper", "_gain", "+.1%")} | gains


def _two_splits(prefix: str, ending: str, form: str) -> str:
    """The cell with the figures of both splits, validation / test. prefix: of the columns' names."""
    return f"{prefix}_valid{ending} / {prefix}_test{ending}:{form}"


def markdown(view: pd.DataFrame) -> str:
    """A table of text as Markdown."""
    align = ["left"] + ["right"] * (len(view.columns) - 1)
    return view.to_markdown(index=False, disable_numparse=True, colalign=align) + "\n"


def latex(view: pd.DataFrame) -> str:
    """A table of text as a LaTeX tabular for booktabs."""
    form = "l" + "r" * (len(view.columns) - 1)
    return view.to_latex(index=False, column_format=form, escape=True).replace("±", r"$\pm$")


def plain(value: str | float) -> str:
    """Text unchanged; a number with four significant digits, or with all digits before the point. No exponents: they
    make numbers hard to compare."""
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
