"""Shows the progress of the core as a bar on a terminal, and its notes in the log."""

import logging
from typing import Self

from tqdm import tqdm

from pipeline.core.common.errors import Watcher

log = logging.getLogger(__name__)


class Bar(Watcher):
    """A bar for each part of the work. title: of a part without a title; visible: whether this process shows a bar."""

    def __init__(self, title: str, unit: str = "w", visible: bool = True):
        self.title = title
        self.unit = unit
        self.hidden = None if visible else True  # None: hidden only without a terminal
        self.bar = tqdm(disable=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.bar.close()

    def begin(self, amount: int, title: str = "", done: int = 0) -> None:
        """See Watcher."""
        self.bar.close()
        self.bar = tqdm(
            desc=title or self.title,
            total=amount,
            initial=done,
            unit=self.unit,
            unit_scale=True,
            disable=self.hidden,
        )

    def advance(self, amount: int) -> None:
        """See Watcher."""
        self.bar.update(amount)

    def note(self, text: str) -> None:
        """See Watcher."""
        log.info("%s", text)
