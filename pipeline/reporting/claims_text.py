"""The claims as a Markdown page: what the papers say, what can't be judged, what we found beyond them."""

import pandas as pd

HEAD = """\
Networks trained by {training}.

Each line compares two models: the figure is the second one's perplexity over the first one's, less 1. `raw`: as the
models give it, which is what the papers read; `with share`: after the last step for words that training never shows.
The 95 % intervals resample the texts, both models on the same ones, and hold the spread of the seeds where there are
several; with one seed they do not. `as much`: at least what the paper's printed figures show, give or take their
rounding; `at most`: at most that. `yes` and `no`: the whole interval says so; `open`: it holds both answers. The
verdicts are not adjusted for their number.
"""


def markdown(training: str, claims: pd.DataFrame, pairs: pd.DataFrame, incomparable: list) -> str:
    """The page; training: whose; claims, pairs: lines of the stage claims; incomparable: what it can't judge."""
    parts = [f"{HEAD.format(training=training)}\n{_table(_wide(claims))}"]
    if incomparable:
        lines = [{"the paper says": each.says, "where": each.where, "why": each.why} for each in incomparable]
        parts.append(f"Not comparable:\n\n{_table(pd.DataFrame(lines))}")
    if len(pairs):
        text = "Exploratory, what we found beyond the papers: no claim of theirs, and no verdict."
        parts.append(f"{text}\n\n{_table(_wide(pairs))}")
    return "\n".join(parts)


def _wide(lines: pd.DataFrame) -> pd.DataFrame:
    """A line a claim, with a column for each split and reading."""
    rows = []
    for says, group in lines.groupby("says", sort=False):
        first = group.iloc[0]
        row = {"the paper says" if "where" in first else "compared": says}
        if "where" in first:
            row |= {"where": first["where"], "asks": _or_blank(first.get("kind")), "paper": _asked(group)}
        row |= {"better": first["better"], "than": first["than"], "seeds": str(first["seeds"])}
        for _, line in group.iterrows():
            row[", ".join(filter(None, (line["split"], _or_blank(line.get("reading")))))] = _measured(line)
        rows.append(row)
    return pd.DataFrame(rows).fillna("")


def _asked(group: pd.DataFrame) -> str:
    """What the paper's figures show on validation and test, and its words."""
    words = group["figure"].iloc[0]
    if "paper" not in group or group["paper"].isna().all():
        return words
    printed = " / ".join(dict.fromkeys(f"{value:+.1%}" for value in group["paper"]))
    return f"{printed} ({words})" if words else printed


def _measured(line: pd.Series) -> str:
    """+1.2% (-0.3% to +2.7%), open"""
    value = f"{line['ours']:+.1%}"
    value += f" ({line['low']:+.1%} to {line['high']:+.1%})" if pd.notna(line.get("low")) else ""
    return f"{value}, {line['holds']}" if "holds" in line else value


def _or_blank(value: object) -> object:
    return "" if pd.isna(value) else value


def _table(frame: pd.DataFrame) -> str:
    return frame.to_markdown(index=False, disable_numparse=True) + "\n"
