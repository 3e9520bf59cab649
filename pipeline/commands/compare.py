"""Where two models differ most on a text: the words that one gives far more probability than the other."""

import argparse

from pipeline.commands import Parser, add_model, add_places, show, whole_number
from pipeline.commands.score import add_text, figures, score_texts
from pipeline.core.common.errors import InputError
from pipeline.core.common.evaluation import perplexity

EXAMPLE = "nplm compare mlp1 kn5 novel.txt --count 5"


def arguments(parser: Parser) -> None:
    add_model(parser, "a")
    add_model(parser, "b")
    add_text(parser)
    count_help = "words shown; default %(default)s"
    parser.add_argument("--count", type=whole_number(1), metavar="N", default=20, help=count_help)
    add_places(parser)


def run(options: argparse.Namespace) -> None:
    """Prints a line for each word, the largest difference first, and the perplexities of both models."""
    if options.a == options.b:
        raise InputError(f"{options.a} and {options.b}: give two models")
    names = [options.a, options.b]
    table = score_texts(options, *names)
    sums = {"words": len(table), "figures": figures(options)}
    sums |= {f"perplexity of {name}": perplexity(table[name].to_numpy()) for name in names}
    table["difference"] = table[options.a] - table[options.b]
    largest = table["difference"].abs().sort_values(ascending=False, kind="stable").index[: options.count]
    table = table.loc[
        largest, [*(["text"] if options.by_line else []), "place", "before", "word", *names, "difference"]
    ]
    if options.format == "table":
        table["before"] = table["before"].str[-40:]  # so that a line fits a terminal
    show(options, table, sums)
