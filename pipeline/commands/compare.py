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
    number = {"type": whole_number(1), "metavar": "N"}
    parser.add_argument("--count", **number, default=20, help="words shown; default %(default)s")
    add_places(parser)


def run(given: argparse.Namespace) -> None:
    """Prints a line for each word, the largest difference first, and both perplexities."""
    if given.a == given.b:
        raise InputError(f"{given.a} and {given.b}: give two models")
    names = [given.a, given.b]
    table = score_texts(given, *names)
    sums = {"words": len(table), "figures": figures(given)}
    sums |= {f"perplexity of {name}": perplexity(table[name].to_numpy()) for name in names}
    table["difference"] = table[given.a] - table[given.b]
    most = table["difference"].abs().sort_values(ascending=False, kind="stable").index[: given.count]
    table = table.loc[most, [*(["text"] if given.by_line else []), "place", "before", "word", *names, "difference"]]
    if given.format == "table":
        table["before"] = table["before"].str[-40:]  # so that a line fits a terminal
    show(given, table, sums)
