"""Tables as people read them: some columns of a CSV file, each figure as text, which becomes Markdown, LaTeX and the
page. views.yaml says what is shown of each table."""

import math
import re
from pathlib import Path

import pandas as pd
import yaml

VIEWS = yaml.safe_load(Path(__file__).with_name("views.yaml").read_text(encoding="utf-8"))
YES_NO = {True: "yes", False: "no"}


def laid_out(frame: pd.DataFrame, view: dict[str, str]) -> pd.DataFrame:
    """A line a row, a column of text for each head of a view whose columns the frame has."""
    columns, lines = {}, frame.to_dict("records")
    for head, cell in view.items():
        names, _, form = cell.partition(":")
        first, between, last = re.fullmatch(r"(.+?)(?:( / | to | \()(.+?)\)?)?", names).groups("")
        if first in frame:
            columns[head] = [_figure(line, first, form) for line in lines]
        if first in frame and last:
            pairs = zip(columns[head], [_figure(line, last, form) for line in lines], strict=True)
            columns[head] = [_cell(one, between, other) for one, other in pairs]
    return pd.DataFrame(columns, frame.index, dtype=object)


def _cell(one: str, between: str, other: str) -> str:
    """Two figures in a cell; in brackets the second may be missing, else there is none without it."""
    if between == " (":
        return f"{one} ({other})" if other else one
    return f"{one}{between}{other}" if other else ""


def _figure(line: dict, name: str, form: str) -> str:
    """With ± its standard deviation where there is NAME_sd, and its interval in brackets where there is NAME_low."""
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


def replication(shorts: dict[str, str]) -> dict[str, str]:
    """The view of Table 1 by several trainings; shorts: what each is called, by the first word of its columns."""
    over = {f"{short}, over the paper": _both(whose, "_over", ".3f") for whose, short in shorts.items()}
    minutes = {f"{short}, CPU minutes": f"{whose}_minutes:.0f" for whose, short in shorts.items()}
    return {"row": "row"} | {key: f"{key}:.0f" for key in ("n", "c", "h", "m")} | _perplexities(shorts) | over | minutes


def answer(shorts: dict[str, str]) -> dict[str, str]:
    """The same in short: the paper's figures and each training's."""
    return {"validation / test": "row", "n": "n:.0f"} | _perplexities(shorts)


def _perplexities(shorts: dict[str, str]) -> dict[str, str]:
    """The paper's and each training's, validation / test."""
    own = {short: _both(whose, "_raw", ".1f") for whose, short in shorts.items()}
    return {"the paper": _both("paper", "", "g")} | own


def comparisons(shorts: dict[str, str]) -> dict[str, str]:
    """The view of what the paper compares in words."""
    every = {"paper": "the paper"} | shorts
    return {"gain, validation / test": "comparison"} | {name: _both(whose, "", "+.1%") for whose, name in every.items()}


def _both(whose: str, ending: str, form: str) -> str:
    """Validation / test of one column's figures."""
    return f"{whose}_valid{ending} / {whose}_test{ending}:{form}"


def markdown(view: pd.DataFrame) -> str:
    """A table of text in Markdown."""
    align = ["left"] + ["right"] * (len(view.columns) - 1)
    return view.to_markdown(index=False, disable_numparse=True, colalign=align) + "\n"


def latex(view: pd.DataFrame) -> str:
    """The same as a LaTeX tabular for booktabs."""
    form = "l" + "r" * (len(view.columns) - 1)
    return view.to_latex(index=False, column_format=form, escape=True).replace("±", r"$\pm$")


def plain(value: str | float) -> str:
    """Text as it is; a number with four digits, or with all before the point: exponents hide what is to be compared."""
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
