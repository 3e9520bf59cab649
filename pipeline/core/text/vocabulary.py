"""The vocabulary: rare words merged into one symbol, ids by falling frequency (paper, section 4)."""

from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import numpy as np
import pandas as pd

from pipeline.core.common.errors import InputError
from pipeline.core.common.stream import PARAGRAPH, TEXT, UNKNOWN

PROPER = "<proper>"  # optional symbol for rare words with a capital letter, the paper's proper nouns
CHUNK = 1 << 20  # words coded at a time


class Types:
    """Codes the words of a stream by type. Only the types, and 4 bytes per word, stay in memory."""

    def __init__(self):
        self._code = {TEXT: 0}  # always a type, as the context before every stream
        self._waiting: list[str] = []
        self._codes = array("i")  # grows in place
        self.words = 0

    def add(self, words: Sequence[str]) -> None:
        """Adds the next words of the stream."""
        self._waiting += words
        self.words += len(words)
        if len(self._waiting) >= CHUNK:
            self._flush()

    def coded(self) -> tuple[list[str], np.ndarray]:
        """The types in order of first occurrence, and the stream (T,) int32 of places in this list."""
        self._flush()
        return list(self._code), np.frombuffer(self._codes, np.int32)

    def _flush(self) -> None:
        codes, types = pd.factorize(np.asarray(self._waiting, dtype=object))
        new = [self._code.setdefault(word, len(self._code)) for word in types]
        self._codes.frombytes(np.asarray(new, dtype=np.int32)[codes].tobytes())
        self._waiting = []


def build(
    types: Sequence[str],
    codes: np.ndarray,
    counted: int,
    rare: int = 0,
    size: int = 0,
    fold: Callable[[Sequence[str]], list[str]] | None = None,
    proper: bool = False,
) -> tuple[list[str], np.ndarray, int]:
    """The vocabulary of a stream, and the stream in ids.

    types, codes: from Types.coded; the ids overwrite the codes. counted: frequencies are counted in the first `counted`
    words (the paper, Brown: all of them). rare: words of this frequency or less become `<unk>`; the marks always stay.
    size: size of the vocabulary at most, with the most frequent words; 0: no bound. fold: merges types, for example
    those that differ in case. proper: words that would become `<unk>` become `<proper>` if they begin with a capital
    letter in the text. A word `<unk>` in the text is taken as the symbol.
    Returns the vocabulary (place in the list = id: 0 is `<unk>`, 1 is `<proper>` if `proper`, then falling frequency,
    ties by code point), the ids (T,) int32, and the number of types that occur. Raises InputError where `size` has no
    room for a word beside the symbols.
    """
    folded_of_type, folded = pd.factorize(np.asarray(fold(types) if fold else types, dtype=object))
    symbols = [UNKNOWN, PROPER] if proper else [UNKNOWN]
    occurring = np.bincount(folded_of_type, frequencies(codes, len(types)), len(folded)) > 0
    frequency = np.bincount(folded_of_type, frequencies(codes[:counted], len(types)), len(folded))
    marks = np.isin(folded, [PARAGRAPH, TEXT]) & (occurring | (folded == TEXT))
    remaining = np.flatnonzero(((frequency > rare) | marks) & ~np.isin(folded, symbols))
    by_frequency = sorted(remaining, key=lambda word: (-frequency[word], folded[word]))
    if size:
        if size < len(symbols) + marks.sum() + 1:
            raise InputError(f"corpus.size={size}: a vocabulary of so few words has no room for more than its symbols")
        room = size - len(symbols) - marks.sum()
        most_frequent = set(islice((word for word in by_frequency if not marks[word]), room))
        by_frequency = [word for word in by_frequency if marks[word] or word in most_frequent]
    id_of_folded = np.zeros(len(folded), dtype=np.int32)
    for number, symbol in enumerate(symbols):
        id_of_folded[folded == symbol] = number
    id_of_folded[by_frequency] = np.arange(len(symbols), len(symbols) + len(by_frequency))
    id_of_type = id_of_folded[folded_of_type]
    if proper:
        capital = np.fromiter((word[:1].isupper() for word in types), bool, len(types))
        id_of_type[(id_of_type == 0) & capital] = 1
    for part in _parts(codes):
        part[:] = id_of_type[part]
    return [*symbols, *folded[by_frequency]], codes, int(occurring.sum())


def frequencies(codes: np.ndarray, types: int) -> np.ndarray:
    """How often each code or id occurs, (types,)."""
    return sum((np.bincount(part, minlength=types) for part in _parts(codes)), start=np.zeros(types, dtype=np.int64))


def _parts(codes: np.ndarray) -> Iterator[np.ndarray]:
    """Views of CHUNK codes at a time: bincount, and indexing by an array, copy the codes to 8 bytes each."""
    return (codes[start : start + CHUNK] for start in range(0, len(codes), CHUNK))
