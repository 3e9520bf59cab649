"""How likely a text is: the log-probability of each word, and the perplexity.

A word that the vocabulary does not hold is scored as `<unk>` and marked. `<unk>` is likely, so a text with many such
words has a low perplexity, whatever they are. After each paragraph and the text stand marks (<p>, <text>), which are
scored too, as in training. Logarithms are natural; in CSV the sums go to standard error.
"""

import argparse
import sys

from pipeline.commands import Parser, Session, add_model, add_places, add_text

EXAMPLE = 'echo "The jury said that it was fair." | nplm score mlp1'
MANY = 0.2  # share of unknown words from which a perplexity says little of a text


def arguments(parser: Parser) -> None:
    add_model(parser)
    add_text(parser)
    parser.add_argument("--summary", action="store_true", help="the sums alone, not a line for each word")
    add_places(parser)


def run(given: argparse.Namespace) -> None:
    """Prints a line for each word, and the sums."""
    from pipeline.core.common.evaluation import perplexity
    from pipeline.core.common.symbols import PARAGRAPH, TEXT
    from pipeline.models import user_text

    session = Session(given)
    session.folder(given.model)
    words = session.words()
    table = user_text.scored(words, session.model(given.model), session.corpus)
    marks = table["word"].isin([PARAGRAPH, TEXT])
    number, unknown = int((~marks).sum()), int(table["unknown"].sum())
    sums = {"words": number, "marks": int(marks.sum()), "unknown words": unknown}
    sums["perplexity"] = perplexity(table["log_probability"].to_numpy())
    if unknown:
        sums["perplexity without unknown words"] = perplexity(table["log_probability"][~table["unknown"]].to_numpy())
    session.show(table.head(0 if given.summary else None), sums)
    if unknown > MANY * number:
        print(f"{unknown} of {number} words are unknown: the perplexity says little of this text", file=sys.stderr)
