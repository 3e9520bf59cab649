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
    parser.add_argument("--summary", action="store_true", help="the sums alone, not a line for each word")
    add_places(parser)


def run(given: argparse.Namespace) -> None:
    """Prints a line for each word, or each text, and the sums."""
    import pandas as pd

    from pipeline.core.common.evaluation import perplexity

    session = Session(given)
    session.folder(given.model)
    texts = session.texts()
    parts = session.scored(given.model, texts)
    table = pd.concat(parts)
    counted = table["word"].isin([*session.corpus.counts["marks"]])
    number, unknown = int((~counted).sum()), int(table["unknown"].sum())
    sums = {"words": number, "marks": int(counted.sum()), "unknown words": unknown}
    sums["figures"] = session.figures
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
