"""The three parts of a stream, in its order (paper, section 4)."""

from collections.abc import Mapping

import numpy as np

SPLITS = ("train", "valid", "test")


def before(ids: Mapping[str, np.ndarray], split: str) -> np.ndarray:
    """The ids that stand before a split in the stream, enough for any context; none before training."""
    return {"train": ids["train"][:0], "valid": ids["train"], "test": ids["valid"]}[split]
