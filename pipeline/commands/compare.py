"""Where two models differ most on a text: the words that one gives far more probability than the other."""

import argparse

import numpy as np

from pipeline.commands.command import Parser, Session, above_zero, add_places, add_text
from pipeline.data.errors import InputError

EXAMPLE = "nplm compare mlp1 kn5 novel.txt --count 5"


def arguments(parser: Parser) -> None:
    """See the module."""
    parser.add_argument("a", metavar="A", help="a model, such as mlp1")
    parser.add_argument("b", metavar="B", help="another, such as kn5")
    add_text(parser)
    parser.add_argument("--count", type=above_zero, default=20, metavar="N", help="words shown; default %(default)s")
    add_places(parser)


def run(given: argparse.Namespace) -> None:
    """Prints a line for each word, the largest difference first, and both perplexities."""
    import pandas as pd

    from pipeline.commands import user_text
    from pipeline.core.common.evaluation import perplexity

    if given.a == given.b:
        raise InputError(f"{given.a} and {given.b}: give two models")
    session = Session(given)
    for name in (given.a, given.b):
        session.folder(name)
    words = session.words()
    models = (session.model(name) for name in (given.a, given.b))
    a, b = (user_text.scored(words, model, session.corpus)["log_probability"].to_numpy() for model in models)
    most = np.argsort(-np.abs(a - b), kind="stable")[: given.count]
    table = pd.DataFrame(
        {
            "place": most + 1,
            "before": [" ".join(words[max(0, t - 4) : t]) for t in most],
            "word": [words[t] for t in most],
            given.a: a[most],
            given.b: b[most],
            "difference": (a - b)[most],
        }
    )
    names = {f"perplexity of {name}": perplexity(p) for name, p in ((given.a, a), (given.b, b))}
    if given.format == "table":
        table["before"] = table["before"].str[-40:]  # so that a line fits a terminal
    session.show(table, {"words": len(words)} | names)
