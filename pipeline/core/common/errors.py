"""The exception that is meant for the user's eyes, and the one way in which the core tells how far it is."""


class InputError(ValueError):
    """Configuration, file, text or numbers that cannot be used.

    Its text says what is wrong, where, and what to do next, in a line for each fault. A stage prints it and ends with
    a non-zero exit code; any other exception is a fault of ours and keeps its traceback.
    """


class MissingTextError(InputError):
    """No usable text where the texts of a corpus should be."""


class Watcher:
    """What a computation tells of its progress. No method can change a bit of the result."""

    def begin(self, amount: int, title: str = "", done: int = 0) -> None:
        """So much work begins, some of which was done before."""

    def advance(self, amount: int) -> None:
        """So much of it is done."""

    def note(self, text: str) -> None:
        """Something is known that people may want to read."""
