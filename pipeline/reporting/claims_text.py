"""The claims as a Markdown page: what the papers say, what can't be judged, what we found beyond them."""

import pandas as pd

from pipeline.config.tables import Table

TRAINED = "Networks trained by {training}; seeds: {seeds}.\n"
HEAD = """\
A figure is the perplexity of `than` over that of `better`, less 1, in the geometric mean over seeds. Of several
models it is about the one whose raw perplexity is lowest on validation, ours here and the paper's there; where it
says `by each reading`, ours by the reading that is judged. `raw`: as the models give it, which is what the papers
read; `with share`: after the last step for words that training never shows. What a claim asks for follows from the
papers' printed figures, give or take their rounding; where they print none of validation, those of test stand for
both. The 95 % intervals resample the texts, both models on the same ones, and hold the spread of the seeds where
there are several. `yes`: the whole interval lies within what is asked for; `no`: the whole of it outside; `open`:
neither. `one seed`: the interval does not hold the spread of the seeds, so another seed may change the verdict. The
verdicts are not adjusted for their number. Validation figures are optimistic: recipe, stopping and weights were
chosen there. The claims were worded anew on 2026-11-23, when their figures were known; docs/results.md shows what
that changed.
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


def page(table: Table, frames: dict[str, pd.DataFrame]) -> str:
    """The page; frames: the stage's lines of each kind."""
    judged = any(len(frames[kind]) for kind in ("claims", "curves", "incomparable"))
    parts = [TRAINED.format(training=table.training, seeds=len(table.seeds))] + [HEAD] * judged
    for kind, head in HEADS.items():
        if len(frames[kind]):
            more = "" if judged else f"{WITHOUT_CLAIMS}\n"  # then pairs alone are there
            parts.append(f"{head}{more}{VIEW_OF[kind](frames[kind]).to_markdown(index=False, disable_numparse=True)}\n")
    return "\n".join(parts)


def claims_view(lines: pd.DataFrame) -> pd.DataFrame:
    """A line a claim, as text: its words, what it asks for, and what was measured on each split and reading."""
    return pd.DataFrame([_claim(group) | _measured(group) for _, group in lines.groupby("says", sort=False)])


def pairs_view(lines: pd.DataFrame) -> pd.DataFrame:
    """A line a pair that the papers do not compare."""
    named = {"says": "compared", "better": "model", "than": "other"}
    groups = [group for _, group in lines.groupby("says", sort=False)]
    return pd.DataFrame([group.iloc[0][[*named]].rename(named).to_dict() | _measured(group) for group in groups])


def curves_view(lines: pd.DataFrame) -> pd.DataFrame:
    """A line a claim about learning curves, or one that can't be judged."""
    return lines.rename(columns={"says": "the paper says"})


HEADS = {
    "claims": "",
    "curves": f"{CURVES}\n",
    "incomparable": "Not comparable:\n\n",
    "exploratory": f"{EXPLORATORY}\n",
}
VIEW_OF = {"claims": claims_view, "curves": curves_view, "incomparable": curves_view, "exploratory": pairs_view}


def _claim(group: pd.DataFrame) -> dict[str, str]:
    first = group.iloc[0]
    added = f" (added {first['added']}, its figures known)" if first["added"] else ""
    # What the paper's figures show on validation and test, and its words.
    shown = _either(group["paper"]) if group["paper"].notna().all() else ""
    words = f" ({first['figure']})" if shown and first["figure"] else first["figure"]
    asked = {"better": "above 0", "as much": f"at least {_either(group['least'])}"}
    return {
        "the paper says": first["says"] + added,
        "where": first["where"],
        "paper": shown + words,
        "asks": asked.get(first["kind"], f"at most {_either(group['most'])}"),
        "better": _either(group["better"], "{}"),
        "than": _either(group["than"], "{}"),
    }


def _either(values: pd.Series, form: str = "{:+.2%}") -> str:
    """One value, or those of the splits and readings where they differ."""
    return " / ".join(dict.fromkeys(map(form.format, values)))


def _measured(group: pd.DataFrame) -> dict[str, str]:
    """By split and reading, as +1.2% (-0.3% to +2.7%), open, one seed."""
    measured = {}
    for line in group.to_dict("records"):
        interval = f" ({line['low']:+.1%} to {line['high']:+.1%})" if pd.notna(line["low"]) else ""
        more = [line.get("holds"), "one seed" if line["seeds"] == 1 else ""]
        figure = f"{line['ours']:+.1%}{interval}"
        measured[f"{line['split']}, {line['reading']}"] = ", ".join(filter(None, [figure, *more]))
    return measured
