"""Where two models differ most on a text: the words that one gives far more probability than the other."""

import argparse

import numpy as np

from pipeline.commands import Parser, Session, add_model, add_places, add_text, whole_number
from pipeline.data.errors import InputError

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
    import pandas as pd

    from pipeline.core.common.evaluation import perplexity
    from pipeline.models import user_text

    if given.a == given.b:
        raise InputError(f"{given.a} and {given.b}: give two models")
    session, names = Session(given), (given.a, given.b)
    for name in names:
        session.folder(name)
    words = session.words()
    models = (session.model(name) for name in names)
    a, b = (user_text.scored(words, model, session.corpus)["log_probability"].to_numpy() for model in models)
    most = np.argsort(-np.abs(a - b), kind="stable")[: given.count]
    before = [" ".join(words[max(0, t - 4) : t]) for t in most]
    if given.format == "table":
        before = [each[-40:] for each in before]  # so that a line fits a terminal
    columns = {"place": most + 1, "before": before, "word": [words[t] for t in most]}
    columns |= {given.a: a[most], given.b: b[most], "difference": (a - b)[most]}
    sums = {f"perplexity of {name}": perplexity(p) for name, p in zip(names, (a, b), strict=True)}
    session.show(pd.DataFrame(columns), {"words": len(words)} | sums)
