"""A reproduction of *A Neural Probabilistic Language Model* (Bengio, Ducharme, Vincent, Jauvin, JMLR 2003)."""

import sys

from pipeline.core.common import threads  # before numpy and torch are imported  # noqa: F401

__version__ = "0.1.0"

# `python -m pipeline.<stage> --help` is answered here: the stage's own imports, torch among them, take seconds. Python
# imports this package first, with "-m" in the place of the program's name.
if sys.argv[:1] == ["-m"] and {"--help", "-h"} & set(sys.argv):
    from pipeline.config import help

    help.answer_early()


def _stopped(kind: type[BaseException], error: BaseException, trace: object) -> None:
    """Ctrl-C while a program still imports what it needs, which takes seconds, is one line, as it is later."""
    if issubclass(kind, KeyboardInterrupt):
        print("error: stopped", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


if sys.argv[:1] == ["-m"]:
    sys.excepthook = _stopped
