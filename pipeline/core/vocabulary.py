"""The vocabulary: rare words merged into one symbol, ids by falling frequency (paper, section 4)."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pipeline.core.errors import InputError
from pipeline.core.symbols import PARAGRAPH, TEXT, UNKNOWN


def build(words: Sequence[str], rare: int, counted: int) -> tuple[list[str], np.ndarray, int]:
    """The vocabulary of a stream, and the stream in its ids.

    words: the stream. rare: words of that frequency or less become `<unk>`; the marks always stay.
    counted: frequencies are those of the first `counted` words (the paper: all of them).
    Returns the vocabulary (its place in the list is the id: 0 is `<unk>`, then falling frequency, ties by code
    point), the ids (T,) int32, and the number of types in the whole stream.
    """
    codes, types = pd.factorize(np.asarray(words, dtype=object))
    if UNKNOWN in types:
        raise InputError(f"the corpus holds the word {UNKNOWN!r}, which stands for rare words here: rename it")
    frequency = np.bincount(codes[:counted], minlength=len(types))
    kept = np.flatnonzero((frequency > rare) | np.isin(types, [PARAGRAPH, TEXT]))
    kept = kept[np.lexsort((types[kept].astype(str), -frequency[kept]))]
    id_of_type = np.zeros(len(types), dtype=np.int32)
    id_of_type[kept] = np.arange(1, len(kept) + 1)
    return [UNKNOWN, *types[kept]], id_of_type[codes], len(types)
