"""Counts of n-grams of every order up to n, by sorting packed integer keys; no loop over tokens.

A word's place is its id. A longer n-gram is known by its place in the sorted table of its order; its key is the place
of its first n-1 words times |V| plus its last word. Keys so stay below tokens times |V|: any order fits in 64 bits.
"""

from dataclasses import dataclass

import numpy as np

NEVER = -1  # the place of an n-gram that training never shows


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


def count(ids: np.ndarray, order: int, vocabulary: int) -> Counts:
    """Counts the n-grams of orders 1 to `order` that lie wholly inside the stream `ids` (T,)."""
    place = ids.astype(np.int64)  # of the k-grams that end with ids[k-1:]
    words = Table(np.arange(vocabulary), np.bincount(ids, minlength=vocabulary), np.zeros(vocabulary, dtype=np.int64))
    tables, first = [words], [int(ids[0])]
    for k in range(2, order + 1):
        suffix = place[1:]
        keys, place, counts = np.unique(place[:-1] * vocabulary + ids[k - 1 :], return_inverse=True, return_counts=True)
        suffixes = np.empty(len(keys), dtype=np.int64)
        suffixes[place] = suffix
        tables.append(Table(keys, counts, suffixes))
        first.append(int(place[0]))
    return Counts(vocabulary, len(ids), tables, first)
