"""The claims as a Markdown page: what the papers say, what can't be judged, what we found beyond them."""

import pandas as pd

from pipeline.config.tables import Table

TABLE = 'Models of the table "{table}"; seeds of a network: {seeds}.\n'
HEAD = """\
A figure is the perplexity of `than` over that of `better`, less 1, in the geometric mean over seeds. Of several
models it is about the one whose raw perplexity is lowest on validation, ours here and the paper's there; where it
says `by each reading`, ours by the evaluation that is judged. `raw`: as the models give it, which is what the
papers print; `corrected`: corrected for unseen words, those that training never shows. What a claim asks for follows
from the papers' printed figures, give or take their rounding; where they print none of validation, those of test stand
for both. The 95 % intervals resample the texts, both models on the same ones, and hold the spread of the seeds where
there are several. `yes`: the whole interval lies within what is asked for; `no`: the whole of it outside; `open`:
neither. `one seed`: the interval does not hold the spread of the seeds, so another seed may change the verdict. The
verdicts are not adjusted for their number. Validation figures are optimistic: recipe, stopping and weights were
chosen there. The claims were worded anew on 2026-11-23, and five of Table 1 got other n-grams on 2026-11-29, when
their figures were known; docs/results.md, "Claims", says more.
"""
CURVES = """\
Read off learning curves: validation perplexity on the tokens that early stopping reads, one seed, no interval. Where
the rate falls to nothing, the last epoch is nearly always the best.
"""
EXPLORATORY = """\
Exploratory, what we found beyond the papers: no claim of theirs, and no verdict. A figure is the perplexity of
`other` over that of `model`, less 1.
"""
# What HEAD says of figures, for a page that has pairs and no claims.
WITHOUT_CLAIMS = """\
It is the geometric mean over seeds. `raw`: as the models give it; `corrected`: corrected for unseen words, those
that training never shows. The 95 % intervals resample the texts, both models on the same ones, and hold the spread of
the seeds where there are several; `one seed`: the interval does not hold it. Validation figures are optimistic: recipe,
stopping and weights were chosen there.
"""


def page(table: Table, frames: dict[str, pd.DataFrame]) -> str:
    """The page. frames: the stage's lines, by kind."""
    has_claims = any(len(frames[kind]) for kind in ("claims", "curves", "incomparable"))
    parts = [TABLE.format(table=table.title or table.csv, seeds=len(table.seeds))] + [HEAD] * has_claims
    for kind, head in HEADS.items():
        if len(frames[kind]):
            note = "" if has_claims else f"{WITHOUT_CLAIMS}\n"
            parts.append(f"{head}{note}{VIEW_OF[kind](frames[kind]).to_markdown(index=False, disable_numparse=True)}\n")
    return "\n".join(parts)


def claims_view(lines: pd.DataFrame) -> pd.DataFrame:
    """One line per claim, as text: its words, what it asks for, and the figures of each split and evaluation."""
    return pd.DataFrame([_claim(group) | _figures(group) for _, group in lines.groupby("says", sort=False)])


def pairs_view(lines: pd.DataFrame) -> pd.DataFrame:
    """One line per pair of models that the papers do not compare."""
    heads = {"says": "compared", "better": "model", "than": "other"}
    groups = [group for _, group in lines.groupby("says", sort=False)]
    return pd.DataFrame([group.iloc[0][[*heads]].rename(heads).to_dict() | _figures(group) for group in groups])


def curves_view(lines: pd.DataFrame) -> pd.DataFrame:
    """One line per claim about learning curves, or per claim that can't be judged."""
    return lines.rename(columns={"says": "the paper says"})


HEADS = {
    "claims": "",
    "curves": f"{CURVES}\n",
    "incomparable": "Not comparable:\n\n",
    "exploratory": f"{EXPLORATORY}\n",
}
VIEW_OF = {"claims": claims_view, "curves": curves_view, "incomparable": curves_view, "exploratory": pairs_view}


def _claim(group: pd.DataFrame) -> dict[str, str]:
    claim = group.iloc[0]
    note = f" (added {claim['added']}, its figures known)" if claim["added"] else ""
    # The gain by the paper's figures on validation and test, then the paper's own words.
    gain = _either(group["paper"]) if group["paper"].notna().all() else ""
    words = f" ({claim['figure']})" if gain and claim["figure"] else claim["figure"]
    bounds = {"better": "above 0", "as much": f"at least {_either(group['least'])}"}
    return {
        "the paper says": claim["says"] + note,
        "where": claim["where"],
        "paper": gain + words,
        "asks": bounds.get(claim["kind"], f"at most {_either(group['most'])}"),
        "better": _either(group["better"], "{}"),
        "than": _either(group["than"], "{}"),
    }


def _either(values: pd.Series, form: str = "{:+.2%}") -> str:
    """The value; where splits or evaluations differ, all values."""
    return " / ".join(dict.fromkeys(map(form.format, values)))


def _figures(group: pd.DataFrame) -> dict[str, str]:
    """By split and evaluation, such as `+1.2% (-0.3% to +2.7%), open, one seed`."""
    figures = {}
    for line in group.to_dict("records"):
        interval = f" ({line['low']:+.1%} to {line['high']:+.1%})" if pd.notna(line["low"]) else ""
        notes = [line.get("holds"), "one seed" if line["seeds"] == 1 else ""]
        figure = f"{line['ours']:+.1%}{interval}"
        figures[f"{line['split']}, {line['evaluation']}"] = ", ".join(filter(None, [figure, *notes]))
    return figures
