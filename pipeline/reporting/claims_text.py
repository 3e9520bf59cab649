"""The claims as a Markdown page: what the papers say, what can't be judged, what we found beyond them."""

from collections.abc import Callable

import pandas as pd

from pipeline.reporting.table import Table

TRAINED = "Networks trained by {training}; seeds: {seeds}.\n"
HEAD = """\
A figure is the perplexity of `than` over that of `better`, less 1, in the geometric mean over seeds. Of several
models it is about the one whose raw perplexity is lowest on validation, ours here and the paper's there. `raw`: as
the models give it, which is what the papers read; `with share`: after the last step for words that training never
shows. What a claim asks for follows from the papers' printed figures, give or take their rounding; where they print
none of validation, those of test stand for both. The 95 % intervals resample the texts, both models on the same ones,
and hold the spread of the seeds where there are several. `yes`: the whole interval lies within what is asked for;
`no`: the whole of it outside; `open`: neither. `one seed`: the interval does not hold the spread of the seeds, so
another seed may change the verdict. The verdicts are not adjusted for their number. Validation figures are
optimistic: recipe, stopping and weights were chosen there. The claims were worded anew on 2026-11-23, when their
figures were known; docs/results.md shows what that changed.
"""
CURVES = """\
Read off learning curves: validation perplexity on the tokens that early stopping reads, one seed, no interval. Where
the rate falls to nothing, the last epoch is nearly always the best.
"""
EXPLORATORY = """\
Exploratory, what we found beyond the papers: no claim of theirs, and no verdict. A figure is the perplexity of
`other` over that of `model`, less 1.
"""
# What HEAD says of figures, where no claim stands above the pairs.
WITHOUT_CLAIMS = """\
It is the geometric mean over seeds. `raw`: as the models give it; `with share`: after the last step for words that
training never shows. The 95 % intervals resample the texts, both models on the same ones, and hold the spread of the
seeds where there are several; `one seed`: the interval does not hold it. Validation figures are optimistic: recipe,
stopping and weights were chosen there.
"""


SAYS = {"says": "the paper says"}


def markdown(
    table: Table, claims: pd.DataFrame, curves: pd.DataFrame, pairs: pd.DataFrame, incomparable: list[object]
) -> str:
    """The page; claims, curves, pairs: the stage's lines; incomparable: what it can't judge."""
    judged = len(claims) + len(curves) + len(incomparable) > 0
    parts = [TRAINED.format(training=table.training, seeds=len(table.seeds)), *[HEAD] * judged]
    if len(claims):
        parts.append(_table(_wide(claims, _claim)))
    if len(curves):
        parts.append(f"{CURVES}\n{_table(curves.rename(columns=SAYS))}")
    if incomparable:
        lines = [{"says": each.says, "where": each.where, "why": each.why} for each in incomparable]
        parts.append(f"Not comparable:\n\n{_table(pd.DataFrame(lines).rename(columns=SAYS))}")
    if len(pairs):
        parts += [EXPLORATORY, *[WITHOUT_CLAIMS] * (not judged), _table(_wide(pairs, _pair))]
    return "\n".join(parts)


def _wide(lines: pd.DataFrame, begin: Callable[[pd.DataFrame], dict[str, str]]) -> pd.DataFrame:
    """A line a claim or a pair, which `begin` begins, with a column for each split and reading."""
    rows = []
    for _, group in lines.groupby("says", sort=False):
        measured = {f"{line['split']}, {line['reading']}": _measured(line) for _, line in group.iterrows()}
        rows.append(begin(group) | measured)
    return pd.DataFrame(rows)


def _claim(group: pd.DataFrame) -> dict[str, str]:
    first = group.iloc[0]
    added = f" (added {first['added']}, its figures known)" if first["added"] else ""
    begun = {"the paper says": first["says"] + added, "where": first["where"], "paper": _printed(group)}
    return begun | {"asks": _asked(group), "better": first["better"], "than": first["than"]}


def _pair(group: pd.DataFrame) -> dict[str, str]:
    first = group.iloc[0]
    return {"compared": first["says"], "model": first["better"], "other": first["than"]}


def _printed(group: pd.DataFrame) -> str:
    """What the paper's figures show on validation and test, and its words."""
    shown = _both(group["paper"]) if group["paper"].notna().all() else ""
    words = group["figure"].iloc[0]
    return f"{shown} ({words})" if shown and words else shown + words


def _asked(group: pd.DataFrame) -> str:
    """The bound on validation and test."""
    kind = group["kind"].iloc[0]
    if kind == "better":
        return "above 0"
    return f"at least {_both(group['least'])}" if kind == "as much" else f"at most {_both(group['most'])}"


def _both(values: pd.Series) -> str:
    """One figure, or that of validation and that of test where they differ."""
    return " / ".join(dict.fromkeys(f"{value:+.2%}" for value in values))


def _measured(line: pd.Series) -> str:
    """+1.2% (-0.3% to +2.7%), open, one seed"""
    value = f"{line['ours']:+.1%}"
    value += f" ({line['low']:+.1%} to {line['high']:+.1%})" if pd.notna(line["low"]) else ""
    value += f", {line['holds']}" if "holds" in line else ""
    return value + ", one seed" * (line["seeds"] == 1)


def _table(frame: pd.DataFrame) -> str:
    return frame.to_markdown(index=False, disable_numparse=True) + "\n"
