"""Counts of n-grams of every order up to n, by sorting packed integer keys; no loop over tokens.

The place of a word is its id. A longer n-gram is identified by its place in the sorted table of its order. Its key is
the place of its first n-1 words times |V|, plus its last word. So keys stay below tokens times |V|, and any order fits
in 64 bits. Keys rise with the place of the first n-1 words. A text that does not fit in memory is therefore sorted in
parts: first the tokens whose first n-1 words lie in one range of places, then those of the next range. The results are
then in files.
"""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np

NEVER = -1  # the place of an n-gram that never occurs in training
AT_ONCE = 1 << 24  # entries of an array in files that are in memory at a time: 1.5 GB while they are sorted
ALL = 1 << 62


@dataclass(frozen=True)
class Store:
    """Where arrays with one entry per token or n-gram are: in memory, or in temporary files, deleted at exit."""

    folder: Path | None = None  # None: memory
    at_once: int = ALL  # entries that are processed at a time

    def empty(self, length: int, dtype: type = np.int64) -> np.ndarray:
        """An uninitialised array (length,)."""
        if self.folder is None or length == 0:
            return np.empty(length, dtype)
        with TemporaryFile(dir=self.folder) as file:
            return np.asarray(np.memmap(file, dtype, "w+", shape=(length,)))

    def ranges(self, sizes: np.ndarray) -> list[tuple[int, int]]:
        """Ranges (from, to) of the places of `sizes` (N,); the sizes of each range sum to about `at_once`."""
        total = np.cumsum(sizes)
        inside = np.searchsorted(total, np.arange(self.at_once, total[-1], self.at_once)) + 1
        return list(pairwise(np.unique([0, *inside, len(sizes)])))

    def within(self, values: np.ndarray, low: int, high: int) -> np.ndarray | slice:
        """The rising places where low <= values < high; a slice where all values are processed at once."""
        if self.at_once >= len(values):
            return slice(None)
        blocks = ((start, values[start : start + self.at_once]) for start in range(0, len(values), self.at_once))
        return np.concatenate([start + np.flatnonzero((low <= block) & (block < high)) for start, block in blocks])


MEMORY = Store()


def of_the_word_before(array: np.ndarray) -> np.ndarray:
    """From an array (T,) of places at each token, the place at the token before; NEVER at the first."""
    return np.concatenate([[NEVER], array[:-1]])


@dataclass(frozen=True)
class Table:
    """The distinct n-grams of one order, in rising order of key; for order 1 all words, also unseen ones."""

    keys: np.ndarray  # (N,) int64
    counts: np.ndarray  # (N,) int64
    suffixes: np.ndarray  # (N,) int64: the place of the last k-1 words in the table of that order

    def find(self, keys: np.ndarray) -> np.ndarray:
        """The place of each key, or NEVER."""
        place = np.searchsorted(self.keys, keys)
        place[place == len(self.keys)] = 0
        return np.where(self.keys[place] == keys, place, NEVER)

    def count(self, place: np.ndarray) -> np.ndarray:
        """The count at each place; 0 at NEVER."""
        return np.where(place == NEVER, 0, self.counts[place])


@dataclass(frozen=True)
class Counts:
    """The counts of the n-grams of order 1 to n in a stream of ids."""

    vocabulary: int
    tokens: int
    tables: list[Table]  # tables[k-1]: order k
    first: list[int]  # first[k-1]: the place of the k-gram with which the stream begins
    store: Store = MEMORY  # for arrays of the tables' lengths

    @property
    def order(self) -> int:
        """n, the highest order counted."""
        return len(self.tables)

    def places(self, stream: np.ndarray) -> list[np.ndarray]:
        """For k = 1 to n: the place (T,) of the k-gram that ends at each token of `stream`.

        NEVER where it never occurs in training, or where the stream has fewer than k words up to there. The place of a
        single word is its id.
        """
        result = [stream.astype(np.int64)]
        for table in self.tables[1:]:
            shorter = of_the_word_before(result[-1])
            result.append(np.where(shorter == NEVER, NEVER, table.find(shorter * self.vocabulary + stream)))
        return result

    def continuations(self, k: int) -> np.ndarray:
        """For each k-gram: how many tokens follow it in the stream, (N_k,)."""
        longer = self.tables[k]
        totals = np.bincount(longer.keys // self.vocabulary, longer.counts, minlength=len(self.tables[k - 1].keys))
        return totals.astype(np.int64)


def count(ids: np.ndarray, order: int, vocabulary: int, store: Store = MEMORY) -> Counts:
    """Counts the n-grams of orders 1 to `order` of the stream `ids` (T,)."""
    place = store.empty(len(ids))  # of the k-grams that end with ids[k-1:]
    place[:] = ids
    words = Table(np.arange(vocabulary), np.bincount(ids, minlength=vocabulary), np.zeros(vocabulary, dtype=np.int64))
    tables, first = [words], [int(ids[0])]
    for k in range(2, order + 1):
        before, last, suffix = place[:-1], ids[k - 1 :], place[1:]
        place, keys, counts, suffixes = (store.empty(len(before)) for _ in range(4))
        size = 0
        for low, high in store.ranges(tables[-1].counts):
            chosen = store.within(before, low, high)
            distinct, inverse, occurrences = np.unique(
                before[chosen] * vocabulary + last[chosen], return_inverse=True, return_counts=True
            )
            part = slice(size, size + len(distinct))
            place[chosen], keys[part], counts[part] = size + inverse, distinct, occurrences
            suffixes[part][inverse] = suffix[chosen]
            size = part.stop
        tables.append(Table(keys[:size], counts[:size], suffixes[:size]))
        first.append(int(place[0]))
    return Counts(vocabulary, len(ids), tables, first, store)


def memory_of(tokens: int, order: int) -> int:
    """The most bytes that Kneser-Ney's arrays take, when hardly any n-gram occurs twice: 8 bytes per token and array.

    Five arrays per order: key, count, suffix, probability and back-off weight; and three temporary ones.
    """
    return 8 * tokens * (5 * order + 3)
