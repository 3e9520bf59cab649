"""Progress of the core as a bar on a terminal; what it notes goes to the log."""

import logging
from typing import Self

from tqdm import tqdm

from pipeline.core.common.errors import Watcher

log = logging.getLogger(__name__)


class Bar(Watcher):
    """A bar for each part of the work. shown: whether this is the process that shows its progress."""

    def __init__(self, what: str, unit: str = "w", shown: bool = True):
        self.what, self.unit, self.hidden = what, unit, None if shown else True  # None: where there is no terminal
        self.bar = tqdm(disable=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.bar.close()

    def begin(self, amount: int, what: str = "", done: int = 0) -> None:
        """See Watcher."""
        self.bar.close()
        shown = {"unit": self.unit, "unit_scale": True, "disable": self.hidden}
        self.bar = tqdm(desc=what or self.what, total=amount, initial=done, **shown)

    def advance(self, amount: int) -> None:
        """See Watcher."""
        self.bar.update(amount)

    def note(self, text: str) -> None:
        """See Watcher."""
        log.info("%s", text)
