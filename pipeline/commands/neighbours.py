"""The words whose features are most like a word's, by the cosine between them."""

import argparse

import numpy as np

from pipeline.commands import Parser, Session, add_model, add_places, whole_number
from pipeline.data.errors import InputError

EXAMPLE = "nplm neighbours mlp1 Monday"


def arguments(parser: Parser) -> None:
    add, numbers = parser.add_argument, {"metavar": "N", "default": 10}
    add_model(parser, only="mlp9")
    add("word", metavar="WORD", help="of the vocabulary, which tells capitals from small letters")
    add("--count", type=whole_number(1), **numbers, help="words shown; default %(default)s")
    add("--seen", type=whole_number(0), **numbers, help="times in training, at least; default %(default)s")
    add_places(parser)


def run(given: argparse.Namespace) -> None:
    """Prints the words with their cosines."""
    import pandas as pd

    from pipeline.core.beyond.nearest import nearest

    session = Session(given)
    vocabulary = session.corpus.vocabulary
    if given.word not in vocabulary:
        alike = [word for word in vocabulary if word.lower() == given.word.lower()]
        raise InputError(
            f"{given.word!r} is not in the vocabulary of {given.data}"
            + (f"; {', '.join(map(repr, alike))} is" if alike else ": it is too rare there, or another spelling")
        )
    features = session.features(given.model)
    counts = np.bincount(session.corpus.train, minlength=len(vocabulary))
    word = vocabulary.index(given.word)
    if counts[word] == 0:
        raise InputError(f"{given.word!r} never occurs in training, so it has learned no features")
    ids, cosines = nearest(features, word, given.count, counts >= given.seen)
    if not len(ids):
        raise InputError(f"no other word occurs {given.seen} times in training: lower --seen")
    table = pd.DataFrame({"word": [vocabulary[i] for i in ids], "cosine": cosines.astype(float)})
    session.show(table, {"model": given.model})
