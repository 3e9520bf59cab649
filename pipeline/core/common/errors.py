"""The one exception of the core, and the one way in which it tells how far it is."""

from typing import Any


class UnusableError(ValueError):
    """Text, settings or numbers that can't be used. `what` is a key of pipeline/running/messages.py, which words it
    with the values."""

    def __init__(self, what: str, **values: Any):
        super().__init__(what, values)
        self.what, self.values = what, values


class Watcher:
    """What a computation tells of its progress. No method can change a bit of the result."""

    def begin(self, amount: int, what: str = "", done: int = 0) -> None:
        """So much work begins, some of which was done before."""

    def advance(self, amount: int) -> None:
        """So much of it is done."""

    def note(self, what: str, **values: Any) -> None:
        """Something is known that people may want to read; as UnusableError, a key and its values."""
