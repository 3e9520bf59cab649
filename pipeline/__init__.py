"""A reproduction of *A Neural Probabilistic Language Model* (Bengio, Ducharme, Vincent, Jauvin, JMLR 2003)."""

import sys

from pipeline.core.common import threads  # before numpy and torch are imported  # noqa: F401

__version__ = "0.1.0"


def _stopped(kind: type[BaseException], error: BaseException, trace: object) -> None:
    """Ctrl-C while a program still imports what it needs, which takes seconds, is one line, as it is later."""
    if issubclass(kind, KeyboardInterrupt):
        print("error: stopped", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


if sys.argv[:1] == ["-m"]:  # as Python has it while it imports this package for `python -m pipeline.<stage>`
    sys.excepthook = _stopped
