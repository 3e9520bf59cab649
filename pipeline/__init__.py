"""A reproduction of *A Neural Probabilistic Language Model* (Bengio, Ducharme, Vincent, Jauvin, JMLR 2003)."""

import gc
import signal
import sys

from pipeline.core.common import threads  # before numpy and torch are imported  # noqa: F401

__version__ = "0.1.0"


# sys.argv is so while Python imports this package for `python -m pipeline.<stage>`, before the stage imports what it
# needs, which takes seconds.
if sys.argv[:1] == ["-m"]:
    gc.disable()  # what is imported stays: to look through it for garbage takes a sixth of the time
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Ctrl-C ends the process at once; as an exception it would end in torch's abort or a traceback.
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def print_anything() -> None:
    """From here on what standard output or error can't hold, such as é in ASCII, is printed as its code."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")


def end_imports() -> None:
    """From here on Ctrl-C is an exception again, unless it was ignored from the start, and Python looks for garbage,
    among what is made from here on."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
    if signal.getsignal(signal.SIGINT) == signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
