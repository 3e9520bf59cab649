"""How likely a text is: the log-probability of each word, and the perplexity.

A word that the vocabulary does not hold counts as `<unk>` and is marked. After each paragraph and the text stand marks
(<p>, <text>), which count too, as in training. Logarithms are natural; in CSV the sums go to standard error.
"""

import argparse

from pipeline.commands.command import MODEL, Parser, Session, add_places, add_text

EXAMPLE = 'echo "The jury said that it was fair." | nplm score mlp1'


def arguments(parser: Parser) -> None:
    """See the module."""
    parser.add_argument("model", metavar="MODEL", help=MODEL)
    add_text(parser)
    add_places(parser)


def run(given: argparse.Namespace) -> None:
    """Prints a line for each word, and the sums."""
    from pipeline.commands import user_text
    from pipeline.data.evaluation import perplexity

    session = Session(given)
    session.folder(given.model)
    words = session.words()
    table = user_text.scored(words, session.model(given.model), session.corpus)
    value = perplexity(table["log_probability"].to_numpy())
    session.show(table, {"words": len(table), "unknown words": int(table["unknown"].sum()), "perplexity": value})
