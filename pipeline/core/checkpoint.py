"""Where a training puts what it needs to go on after a kill. The core knows the interface; files are the stage's."""

from collections.abc import Callable
from typing import Protocol


class Checkpoint(Protocol):
    """A place for one training's state."""

    def tick(self, save: Callable[[], None]) -> None:
        """Called every few steps: calls `save` when it is time again."""

    def write(self, state: dict) -> None:
        """Replaces the state at once, or not at all: tensors, numbers and texts in dictionaries and lists."""

    def read(self) -> dict | None:
        """The state last written, or None."""


class Forgetful:
    """Keeps nothing: for training without a place to write."""

    def tick(self, save: Callable[[], None]) -> None: ...

    def write(self, state: dict) -> None: ...

    def read(self) -> None:
        return None
