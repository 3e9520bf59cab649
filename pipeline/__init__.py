"""A reproduction of *A Neural Probabilistic Language Model* (Bengio, Ducharme, Vincent, Jauvin, JMLR 2003)."""

import signal
import sys

from pipeline.core.common import threads  # before numpy and torch are imported  # noqa: F401

__version__ = "0.1.0"


# sys.argv is so while Python imports this package for `python -m pipeline.<stage>`. Ctrl-C while a stage imports what
# it needs, which takes seconds, ends it at once; as an exception it would end in torch's abort or a traceback.
if sys.argv[:1] == ["-m"] and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def print_anything() -> None:
    """From here on what standard output or error can't hold, such as é in ASCII, is printed as its code."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")


def obey_ctrl_c() -> None:
    """From here on Ctrl-C is an exception again, unless it was ignored from the start."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
