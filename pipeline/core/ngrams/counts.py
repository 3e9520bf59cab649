"""Counts of n-grams of every order up to n, by sorting packed integer keys; no loop over tokens.

A word's place is its id. A longer n-gram is known by its place in the sorted table of its order; its key is the place
of its first n-1 words times |V| plus its last word. Keys so stay below tokens times |V|: any order fits in 64 bits.
Since keys rise with the first n-1 words, a text that memory does not hold is sorted in parts: those tokens whose first
n-1 words lie in one range of places, then the next range; what comes out lies in files.
"""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np

NEVER = -1  # the place of an n-gram that training never shows
AT_ONCE = 1 << 24  # entries of an array in files that are in memory together: 1.5 GB while they are sorted
ALL = 1 << 62


@dataclass(frozen=True)
class Store:
    """Where arrays of a number a token or an n-gram lie: in memory, or in nameless files that end with the process."""

    folder: Path | None = None  # None: memory
    at_once: int = ALL  # entries that are worked on together

    def empty(self, length: int, dtype: type = np.int64) -> np.ndarray:
        """An array (length,) of any values."""
        if self.folder is None or length == 0:
            return np.empty(length, dtype)
        with TemporaryFile(dir=self.folder) as file:
            return np.asarray(np.memmap(file, dtype, "w+", shape=(length,)))

    def ranges(self, sizes: np.ndarray) -> list[tuple[int, int]]:
        """The places of `sizes` (N,) in ranges (from, to), each of about `at_once` of what the sizes sum up."""
        total = np.cumsum(sizes)
        inside = np.searchsorted(total, np.arange(self.at_once, total[-1], self.at_once)) + 1
        return list(pairwise(np.unique([0, *inside, len(sizes)])))

    def within(self, values: np.ndarray, low: int, high: int) -> np.ndarray | slice:
        """Where low <= values < high, rising; a slice where all is worked on together."""
        if self.at_once >= len(values):
            return slice(None)
        blocks = ((start, values[start : start + self.at_once]) for start in range(0, len(values), self.at_once))
        return np.concatenate([start + np.flatnonzero((low <= block) & (block < high)) for start, block in blocks])


MEMORY = Store()


def of_the_word_before(array: np.ndarray) -> np.ndarray:
    """What belongs to the word before each token of an array (T,) of places; NEVER at the first."""
    return np.concatenate([[NEVER], array[:-1]])


@dataclass(frozen=True)
class Table:
    """The distinct n-grams of one order, in rising order of key; of order 1 all words, also those never seen."""

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
    """What a stream of ids holds of n-grams of order 1 to n."""

    vocabulary: int
    tokens: int
    tables: list[Table]  # tables[k-1]: order k
    first: list[int]  # first[k-1]: the place of the k-gram with which the stream begins
    store: Store = MEMORY  # where arrays of the tables' lengths lie

    @property
    def order(self) -> int:
        """n, the highest order counted."""
        return len(self.tables)

    def places(self, stream: np.ndarray) -> list[np.ndarray]:
        """For k = 1 to n: the place (T,) of the k-gram that ends at each token of `stream`.

        NEVER where training does not show it, or where the stream has fewer than k words up to there. The place of
        a single word is its id.
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
    """Counts the n-grams of orders 1 to `order` that lie wholly inside the stream `ids` (T,)."""
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
            found, among, times = np.unique(
                before[chosen] * vocabulary + last[chosen], return_inverse=True, return_counts=True
            )
            part = slice(size, size + len(found))
            place[chosen], keys[part], counts[part] = size + among, found, times
            suffixes[part][among] = suffix[chosen]
            size = part.stop
        tables.append(Table(keys[:size], counts[:size], suffixes[:size]))
        first.append(int(place[0]))
    return Counts(vocabulary, len(ids), tables, first, store)


def memory_of(tokens: int, order: int) -> int:
    """Bytes of Kneser-Ney's arrays at most, where hardly an n-gram comes twice: arrays of 8 bytes a token.

    Of each order an n-gram's key, count, suffix, probability and back-off weight; three more pass by.
    """
    return 8 * tokens * (5 * order + 3)
