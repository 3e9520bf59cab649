"""A stream of words: its splits in order (paper, section 4), its symbols that are not words, its digest."""

import hashlib
from collections.abc import Mapping

import numpy as np

SPLITS = ("train", "valid", "test")

UNKNOWN = "<unk>"  # id 0: rare words
PARAGRAPH = "<p>"  # after each paragraph
TEXT = "<text>"  # after each text
NUMBER = "<number>"  # a word with a digit, where case and numbers are folded


def before(ids: Mapping[str, np.ndarray], split: str) -> np.ndarray:
    """The ids of the split before a split in the stream, for contexts; none before training."""
    return {"train": ids["train"][:0], "valid": ids["train"], "test": ids["valid"]}[split]


def digest(*arrays: np.ndarray) -> str:
    """sha256 over the bytes of arrays, one after the other."""
    total = hashlib.sha256()
    for array in arrays:
        total.update(np.ascontiguousarray(array).data)
    return total.hexdigest()
