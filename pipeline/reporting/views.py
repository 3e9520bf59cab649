"""Tables as people read them: some columns of a CSV file, each figure as text, which becomes Markdown, LaTeX and the
page. views.yaml says what is shown of each table."""

import re
from pathlib import Path

import pandas as pd
import yaml

VIEWS = yaml.safe_load(Path(__file__).with_name("views.yaml").read_text(encoding="utf-8"))
YES_NO = {True: "yes", False: "no"}


def laid_out(frame: pd.DataFrame, view: dict[str, str]) -> pd.DataFrame:
    """A line a row, a column of text for each head of a view whose columns the frame has."""
    lines, columns = frame.to_dict("records"), {}
    for head, cell in view.items():
        names, _, form = cell.partition(":")
        first, *more = re.split("( / | to )", names)
        if first in frame:
            columns[head] = [_cell(line, first, *more, form=form or ".1f") for line in lines]
    return pd.DataFrame(columns, frame.index, dtype=object)


def _cell(line: dict, first: str, between: str = "", last: str = "", form: str = ".1f") -> str:
    """One figure, or two with what stands between them; nothing where the last is missing."""
    texts = [_figure(line, name, form) for name in (first, last) if name]
    return between.join(texts) if texts[-1] else ""


def _figure(line: dict, name: str, form: str) -> str:
    """With ± its standard deviation where there is NAME_sd, and its interval in brackets where there is NAME_low."""
    value, sd, low, high = (line.get(f"{name}{ending}") for ending in ("", "_sd", "_low", "_high"))
    if pd.isna(value) or isinstance(value, str):
        return value if isinstance(value, str) else ""
    text = YES_NO[bool(value)] if pd.api.types.is_bool(value) else format(value, form)
    text += "" if pd.isna(sd) else f" ± {sd:{form}}"
    return text + ("" if pd.isna(low) else f" ({low:{form}} to {high:{form}})")


def replication(shorts: dict[str, str]) -> dict[str, str]:
    """The view of Table 1 by several trainings; shorts: what each is called, by the first word of its columns."""
    every = {"paper": "the paper"} | shorts
    both = "{0}_valid{1} / {0}_test{1}:{2}".format
    shown = {short: both(whose, "", "g" if whose == "paper" else ".1f") for whose, short in every.items()}
    ratios = {f"{short}, ratio": both(whose, "_ratio", ".3f") for whose, short in every.items()}
    minutes = {f"{short}, core-minutes": f"{whose}_minutes:.0f" for whose, short in shorts.items()}
    return {"row": "row"} | {key: f"{key}:d" for key in ("n", "c", "h", "m")} | shown | ratios | minutes


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
