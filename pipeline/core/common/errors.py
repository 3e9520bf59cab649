"""The exception whose message is for the user, and the interface by which the core reports its progress."""


class InputError(ValueError):
    """Configuration, file, text or numbers that cannot be used.

    The message says what is wrong, where, and what to do next, one line per fault. A stage prints it and ends with a
    non-zero exit code. Any other exception is a bug of this project and keeps its traceback.
    """


class MissingTextError(InputError):
    """No usable text where the texts of a corpus should be."""


class Watcher:
    """Receives the progress of a computation. No method can change a bit of the result."""

    def begin(self, amount: int, title: str = "", done: int = 0) -> None:
        """`amount` units of work begin, `done` of which were done before."""

    def advance(self, amount: int) -> None:
        """`amount` more units are done."""

    def note(self, text: str) -> None:
        """A message that people may want to read."""
