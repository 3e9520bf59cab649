"""The exception that is meant for the user's eyes. That of pipeline/core is worded by pipeline/running/messages.py."""

import sys


class InputError(ValueError):
    """Configuration, file or data that cannot be used.

    Its text says what is wrong, where, and what to do next, in a line for each fault. A stage prints it and ends with
    a non-zero exit code; any other exception is a fault of ours and keeps its traceback.
    """


def print_anything() -> None:
    """From here on what standard output or error can't hold, such as é in ASCII, is printed as its code."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")
