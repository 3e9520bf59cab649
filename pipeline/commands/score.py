"""How likely a text is: the log-probability of each word, and the perplexity.

A word that the vocabulary does not hold is scored as `<unk>` and marked. `<unk>` is likely, so a text with many such
words has a low perplexity, whatever they are. After each paragraph and the text stand marks (<p>, <text>), which are
scored too, as in training; --no-marks leaves them out of the figures. Probabilities are with the share for words that
training never shows; --raw: as the model gives them. Logarithms are natural; in CSV the sums go to standard error.
"""

import argparse
import sys

from pipeline.commands import Parser, Session, add_model, add_places, add_text

EXAMPLE = 'echo "The jury said that it was fair." | nplm score mlp1'
MANY = 0.2  # share of unknown words from which a perplexity says little of a text


def arguments(parser: Parser) -> None:
    add_model(parser)
    add_text(parser)
    add = parser.add_argument
    add("--summary", action="store_true", help="the sums alone, not a line for each word")
    add("--by-line", action="store_true", help="each line is a text of its own, with no words before it; a total")
    add("--raw", action="store_true", help="as the model gives it, without the share for unseen words")
    add("--no-marks", action="store_true", help="the marks after paragraphs and the text are context alone")
    add_places(parser)


def run(given: argparse.Namespace) -> None:
    """Prints a line for each word, or each text, and the sums."""
    import pandas as pd

    from pipeline.core.common.evaluation import perplexity
    from pipeline.models import user_text

    session = Session(given)
    session.folder(given.model)
    texts = session.texts() if given.by_line else [session.words()]
    model, corpus = session.model(given.model), session.corpus
    model = model.model if given.raw else model
    parts = [user_text.scored(words, model, corpus, not given.no_marks) for words in texts]
    table = pd.concat(parts)
    counted = table["word"].isin([*corpus.counts["marks"]])
    number, unknown = int((~counted).sum()), int(table["unknown"].sum())
    sums = {"words": number, "marks": int(counted.sum()), "unknown words": unknown}
    sums["figures"] = f"{'raw' if given.raw else 'with share'}, {'without' if given.no_marks else 'with'} marks"
    sums["perplexity"] = perplexity(table["log_probability"].to_numpy())
    if unknown:
        sums["perplexity without unknown words"] = perplexity(table["log_probability"][~table["unknown"]].to_numpy())
    if given.by_line:
        each = [perplexity(part["log_probability"].to_numpy()) for part in parts]
        table = pd.DataFrame({"text": range(1, len(parts) + 1), "words": map(len, parts), "perplexity": each})
        table["begins"] = [" ".join(words[:6]) for words in texts]
    session.show(table.head(0 if given.summary else None), sums)
    if unknown > MANY * number:
        print(f"{unknown} of {number} words are unknown: the perplexity says little of this text", file=sys.stderr)
