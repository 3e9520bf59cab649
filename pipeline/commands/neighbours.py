"""The nearest neighbours of a word: the words whose features have the highest cosine with its features."""

import argparse

from pipeline.commands import Parser, add_model, add_places, open_models, show, whole_number

EXAMPLE = "nplm neighbours mlp1 Monday"


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add_model(parser, examples="mlp9")
    add("word", metavar="WORD", help="of the vocabulary")
    add("--count", type=whole_number(1), metavar="N", default=10, help="words shown; default %(default)s")
    add(
        "--seen", type=whole_number(0), metavar="N", default=10, help="times in training, at least; default %(default)s"
    )
    add_places(parser)


def run(options: argparse.Namespace) -> None:
    """Prints the words with their cosines."""
    (model,) = open_models(options, options.model)
    neighbours = model.neighbours(options.word, options.count, min_count=options.seen)
    show(options, neighbours, {"model": options.model})
