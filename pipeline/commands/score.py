"""How likely a text is: the log-probability of each word, and the perplexity.

A word that the vocabulary does not hold is scored as `<unk>` and marked. `<unk>` is likely, so a text with many such
words has a low perplexity, whatever they are. After each paragraph and the text stand marks (<p>, <text>), which are
scored too, as in training; --no-marks leaves them out of the figures. Probabilities are with the share for words that
training never shows; --raw: as the model gives them. Logarithms are natural; in CSV the sums go to standard error.
"""

import argparse
import sys

from pipeline.commands import Parser, add_model, add_places, add_text, figures, score_texts, show
from pipeline.core.common.evaluation import perplexity

EXAMPLE = 'echo "The jury said that it was fair." | nplm score mlp1'
MANY = 0.2  # share of unknown words from which a perplexity says little of a text


def arguments(parser: Parser) -> None:
    add_model(parser)
    add_text(parser)
    parser.add_argument("--summary", action="store_true", help="the sums alone, not a line for each word")
    add_places(parser)


def run(given: argparse.Namespace) -> None:
    """Prints a line for each word, or each text, and the sums."""
    table = score_texts(given, given.model).rename(columns={given.model: "log_probability"})
    marks, unknown = int(table["mark"].sum()), int(table["unknown"].sum())
    number, log_p = len(table) - marks, table["log_probability"].to_numpy()
    sums = {"words": number, "marks": marks, "unknown words": unknown, "figures": figures(given)}
    sums["perplexity"] = perplexity(log_p)
    if unknown:
        sums["perplexity without unknown words"] = perplexity(log_p[~table["unknown"]])
    if given.by_line:
        texts = table.groupby("text")
        begins = texts["word"].agg(lambda words: " ".join(words[:6]))
        each = texts["log_probability"].agg(lambda own: perplexity(own.to_numpy()))
        table = texts.size().to_frame("words").assign(perplexity=each, begins=begins).reset_index()
    else:
        table = table[["word", "log_probability", "unknown"]]
    show(given, table.head(0 if given.summary else None), sums)
    if unknown > MANY * number:
        print(f"{unknown} of {number} words are unknown: the perplexity says little of this text", file=sys.stderr)
