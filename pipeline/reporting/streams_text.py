"""The two Markdown pages of the stage streams: counts by interpretation, and perplexities of the nearest streams."""

import pandas as pd

from pipeline.reporting.views import VIEWS, laid_out, markdown

COUNTS = """\
# Which words did the authors' stream have?

The paper prints three counts of its stream of the Brown corpus: {tokens:,.0f} tokens, {types:,.0f} types and a
vocabulary of {vocabulary:,.0f} words. It says that the stream was made "distinguishing between upper and lower case".
The free Brown corpus (Form C) can become a stream in many ways. The table has {interpretations} of them. A row is one
interpretation: its choices, its counts, and how far its counts are from the printed ones. An empty cell means: as in
the texts. `largest` is the largest of the three deviations; the rows are sorted by it. Types and vocabulary contain the
marks, and the vocabulary contains the symbol for rare words, as in all counts of this project.

- **The counts contradict the sentence on case.** {cased} interpretations keep case, or change it at sentence starts
  alone. The nearest of them is {cased_off:.1%} off. Of the {lower} interpretations in lower case, {nearer} are nearer.
- **Several interpretations in lower case fit.** The nearest is {off:.2%} off, with {more:+,.0f} tokens:
  "{nearest}". Many ways to cut words were tried, so one such fit can be chance. That the stream was in lower case is
  well supported; how its words were cut is a guess.
- **The interpretation was chosen by counts alone.** This project trains on `corpus.fold`, the row with lower case,
  words with a digit merged, and no other choice. It was chosen before cuts at number signs were tried. Perplexities
  took no part; `streams-perplexity.md` has them as a check.

`number signs`: a word is cut between a digit and a sign: `$1,000` becomes `$ 1 , 000`. Hyphens stay where the cell
does not name them. `points`: `U.S.` becomes `U . S .`. `contractions`: `isn't` becomes `is n't`. `doubled signs`: Form
C writes `;`, `?` and `!` twice, as two words; here they become one. "Words cut as in the Penn Treebank": contractions
and possessives split, doubled signs single.

"""
PERPLEXITIES = """\
# N-grams on the nearest streams: a check

The interpretations below were chosen by their counts: those nearest to the paper's; and others for comparison, among
them case kept. Three n-gram models of the paper's Table 1 are trained on each stream. Figures are perplexities as the
models give them, validation / test, and on training for deleted interpolation. Kneser-Ney is in the form that SRILM
gives by default. `ratio` is the figure of validation over that of test. `largest` is the larger deviation from the two
printed figures. **These figures took no part in the choice.**

Nearness to print is evidence for a stream only as far as our models are the authors'. In print, deleted interpolation
lies further above Kneser-Ney than it does on any stream here. So no stream fits both, and the two kinds of model can
point to different streams. The ratio depends less on such differences between models.

"""


def counts(frame: pd.DataFrame) -> str:
    """The page of streams.csv. frame: as pipeline.streams.table returns it; its first row is the paper's."""
    paper, rows = frame.iloc[0], frame.iloc[1:]
    lower, cased = rows[rows["case"] == "lower"], rows[rows["case"] != "lower"]
    facts = {
        "interpretations": len(rows),
        "cased": len(cased),
        "cased_off": cased["largest_off"].min(),
        "lower": len(lower),
        "nearer": (lower["largest_off"] < cased["largest_off"].min()).sum(),
        "nearest": rows["name"].iloc[0],
        "off": rows["largest_off"].iloc[0],
        "more": rows["tokens"].iloc[0] - paper["tokens"],
    }
    table = frame.replace({"kept": "", "paragraph and text": ""})
    return COUNTS.format(**facts, **paper[["tokens", "types", "vocabulary"]]) + _table(table, "streams")


def perplexities(frame: pd.DataFrame) -> str:
    """The page of streams-perplexity.csv. frame: as pipeline.streams.perplexities returns it."""
    return PERPLEXITIES + _table(frame, "streams-perplexity")


def _table(frame: pd.DataFrame, view: str) -> str:
    return markdown(laid_out(frame, VIEWS[view]))
