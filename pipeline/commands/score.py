"""How likely a text is: the log-probability of each word, and the perplexity.

A word that the vocabulary does not hold is scored as `<unk>` and marked. `<unk>` is likely, so a text with many such
words has a low perplexity, whatever they are. After each paragraph and the text stand marks (<p>, <text>), which are
scored too, as in training; --no-marks leaves them out of the figures. A model of a corpus in lower case, Brown by
default, scores capitals and small letters alike, and each word with a digit as one symbol. Probabilities are with the
share for words that training never shows; --raw: as the model gives them. Logarithms are natural; in CSV the sums go to
standard error.
"""

import argparse
import sys
from pathlib import Path

import pandas as pd

from pipeline.commands import Parser, add_model, add_places, open_models, show
from pipeline.core.common.errors import InputError
from pipeline.core.common.evaluation import perplexity
from pipeline.models.tokeniser import Tokeniser

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


def add_text(parser: Parser) -> None:
    """The text that a command scores, and how."""
    add = parser.add_argument
    add("file", nargs="?", default="-", metavar="FILE", help="a text; default -, standard input")
    tokens = "the text is tokenised: words apart by white space, a paragraph a line"
    add("--tokens", action="store_true", help=tokens)
    add("--by-line", action="store_true", help="each line is a text of its own, with no words before it; a total")
    add("--raw", action="store_true", help="as the model gives it, without the share for unseen words")
    add("--no-marks", action="store_true", help="the marks after paragraphs and the text are context alone")


def score_texts(given: argparse.Namespace, *names: str) -> pd.DataFrame:
    """The words of the text, or with --by-line of each line that has some, as models score them.

    A line a word: text and place, counted from 1, before (four words), word, mark, unknown; and by the name of each
    model its natural-log probability, as --raw and --no-marks ask.
    """
    models, parts = open_models(given, *names), []
    for number, words in enumerate(_read_texts(given, models[0].tokeniser), start=1):
        scored = [model.score_words(words) for model in models]
        before = [" ".join(words[max(0, place - 4) : place]) for place in range(len(words))]
        part = scored[0][["word", "mark", "unknown"]].assign(text=number, place=range(1, len(words) + 1), before=before)
        log_p = [each["raw" if given.raw else "log_probability"] for each in scored]
        parts.append(part.assign(**dict(zip(names, log_p, strict=True))))
    table = pd.concat(parts, ignore_index=True)
    return table[~table["mark"]] if given.no_marks else table


def _read_texts(given: argparse.Namespace, tokeniser: Tokeniser) -> list[list[str]]:
    standard = given.file == "-"
    if standard and sys.stdin.isatty():
        print("Type a text; Ctrl-D ends it.", file=sys.stderr)
    content = sys.stdin.buffer.read() if standard else Path(given.file).read_bytes()
    whole = content.decode("utf-8-sig", "surrogateescape")  # what is not UTF-8 the tokeniser refuses
    lines = [line for line in whole.split("\n") if line.strip()] if given.by_line else []
    try:
        return [tokeniser.words(text, given.tokens) for text in lines or [whole]]
    except InputError as error:
        raise InputError(f"{'standard input' if standard else given.file}: {error}") from error


def figures(given: argparse.Namespace) -> str:
    """Of which kind the scores are."""
    return f"{'raw' if given.raw else 'with share'}, {'without' if given.no_marks else 'with'} marks"
