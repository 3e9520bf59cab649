"""How likely a text is: the log-probability of each word, and the perplexity.

A word that is not in the vocabulary is scored as `<unk>` and marked as unknown. `<unk>` is likely, so a text with many
unknown words has a low perplexity. Marks follow each paragraph (<p>) and the text (<text>). They are scored too, as in
training; --no-marks leaves them out of the figures. A model of a corpus in lower case (Brown, the default) scores
capitals as small letters, and each word with a digit as one symbol. Probabilities are corrected for
unseen words, those of the vocabulary that do not occur in training. --raw: uncorrected, as the model gives them.
Logarithms are natural. With --format csv the sums go to standard error.
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
MANY = 0.2  # with a larger share of unknown words the perplexity says little about a text


def arguments(parser: Parser) -> None:
    add_model(parser)
    add_text(parser)
    parser.add_argument("--summary", action="store_true", help="the sums alone, not a line for each word")
    add_places(parser)


def run(options: argparse.Namespace) -> None:
    """Prints a line for each word, or with --by-line for each text, and the sums."""
    table = score_texts(options, options.model).rename(columns={options.model: "log_probability"})
    log_p = table["log_probability"].to_numpy()
    marks = int(table["mark"].sum())
    words = len(table) - marks
    unknown = int(table["unknown"].sum())
    sums = {"words": words, "marks": marks, "unknown words": unknown, "figures": figures(options)}
    sums["perplexity"] = perplexity(log_p)
    if unknown:
        sums["perplexity without unknown words"] = perplexity(log_p[~table["unknown"]])
    if options.by_line:
        texts = table.groupby("text")
        begins = texts["word"].agg(lambda words: " ".join(words[:6]))
        perplexities = texts["log_probability"].agg(lambda column: perplexity(column.to_numpy()))
        table = texts.size().to_frame("words").assign(perplexity=perplexities, begins=begins).reset_index()
    else:
        table = table[["word", "log_probability", "unknown"]]
    show(options, table.head(0 if options.summary else None), sums)
    if unknown > MANY * words:
        print(f"{unknown} of {words} words are unknown: the perplexity says little of this text", file=sys.stderr)


def add_text(parser: Parser) -> None:
    """Adds the text that a command scores, and how it is scored."""
    add = parser.add_argument
    add("file", nargs="?", default="-", metavar="FILE", help="a text; default -, standard input")
    add("--tokens", action="store_true", help="the text is tokenised: words apart by white space, a paragraph a line")
    add("--by-line", action="store_true", help="each line is a text of its own, with no words before it; a total")
    add("--raw", action="store_true", help="as the model gives it, not corrected for unseen words")
    add("--no-marks", action="store_true", help="the marks after paragraphs and the text are context alone")


def score_texts(options: argparse.Namespace, *names: str) -> pd.DataFrame:
    """A row for each word of the text, or with --by-line of each line that is not empty, as models score it.

    Columns: text and place, counted from 1; before (the four words before); word; mark; unknown; and for each model, by
    its name, the natural-log probability. --raw and --no-marks apply.
    """
    models = open_models(options, *names)
    parts = []
    for number, words in enumerate(_read_texts(options, models[0].tokeniser), start=1):
        tables = [model.score_words(words) for model in models]
        before = [" ".join(words[max(0, place - 4) : place]) for place in range(len(words))]
        part = tables[0][["word", "mark", "unknown"]].assign(text=number, place=range(1, len(words) + 1), before=before)
        log_p = [table["raw" if options.raw else "log_probability"] for table in tables]
        parts.append(part.assign(**dict(zip(names, log_p, strict=True))))
    table = pd.concat(parts, ignore_index=True)
    return table[~table["mark"]] if options.no_marks else table


def _read_texts(options: argparse.Namespace, tokeniser: Tokeniser) -> list[list[str]]:
    from_stdin = options.file == "-"
    if from_stdin and sys.stdin.isatty():
        print("Type a text; Ctrl-D ends it.", file=sys.stderr)
    content = sys.stdin.buffer.read() if from_stdin else Path(options.file).read_bytes()
    text = content.decode("utf-8-sig", "surrogateescape")  # the tokeniser refuses what is not UTF-8
    lines = [line for line in text.split("\n") if line.strip()] if options.by_line else []
    try:
        return [tokeniser.words(part, options.tokens) for part in lines or [text]]
    except InputError as error:
        raise InputError(f"{'standard input' if from_stdin else options.file}: {error}") from error


def figures(options: argparse.Namespace) -> str:
    """The kind of the figures: raw or corrected, with or without marks."""
    return f"{'raw' if options.raw else 'corrected'}, {'without' if options.no_marks else 'with'} marks"
