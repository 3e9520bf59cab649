"""The words whose features are most like a word's, by the cosine between them."""

import argparse

from pipeline.commands import Parser, add_model, add_places, open_models, show, whole_number

EXAMPLE = "nplm neighbours mlp1 Monday"


def arguments(parser: Parser) -> None:
    add, numbers = parser.add_argument, {"metavar": "N", "default": 10}
    add_model(parser, only="mlp9")
    add("word", metavar="WORD", help="of the vocabulary")
    add("--count", type=whole_number(1), **numbers, help="words shown; default %(default)s")
    add("--seen", type=whole_number(0), **numbers, help="times in training, at least; default %(default)s")
    add_places(parser)


def run(given: argparse.Namespace) -> None:
    """Prints the words with their cosines."""
    (model,) = open_models(given, given.model)
    show(given, model.neighbours(given.word, given.count, given.seen), {"model": given.model})
