"""Ctrl-C and SIGTERM as wishes: a training saves its state before it ends."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SIGNALS = (signal.SIGINT, signal.SIGTERM)

_noted: list[int] = []  # the signals of this process; signals belong to a process as a whole


class StoppedError(KeyboardInterrupt):
    """A training has saved its state and ends because a signal asked for it."""


def asked() -> bool:
    """Whether a signal has come since the block of `noted` began."""
    return bool(_noted)


@contextmanager
def noted() -> Iterator[None]:
    """While the block runs, the first signal is only noted; a second one raises KeyboardInterrupt at once."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
        yield
        return

    def note(number: int, frame: object) -> None:
        if _noted:
            raise KeyboardInterrupt
        _noted.append(number)

    before = {number: signal.signal(number, note) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _noted.clear()
