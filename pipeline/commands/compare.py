"""Where two models differ most on a text: the words that one gives far more probability than the other."""

import argparse

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

    if given.a == given.b:
        raise InputError(f"{given.a} and {given.b}: give two models")
    session, names = Session(given), (given.a, given.b)
    for name in names:
        session.folder(name)
    texts = session.texts()
    scored = {name: pd.concat(session.scored(name, texts), keys=range(len(texts))) for name in names}
    word, log_p = scored[given.a]["word"], {name: each["log_probability"] for name, each in scored.items()}
    difference = log_p[given.a] - log_p[given.b]
    most = difference.abs().sort_values(ascending=False, kind="stable").index[: given.count]
    before = [" ".join(texts[line][max(0, t - 4) : t]) for line, t in most]
    if given.format == "table":
        before = [each[-40:] for each in before]  # so that a line fits a terminal
    columns = {"text": most.get_level_values(0) + 1} if given.by_line else {}
    columns |= {"place": most.get_level_values(1) + 1, "before": before}
    columns |= {key: each[most].tolist() for key, each in ({"word": word} | log_p | {"difference": difference}).items()}
    sums = {f"perplexity of {name}": perplexity(each.to_numpy()) for name, each in log_p.items()}
    session.show(pd.DataFrame(columns), {"words": len(word), "figures": session.figures} | sums)
