"""A cache (Kuhn and De Mori 1990): what the words just read say of the next, so that a mixture with it adapts.

With counts c over the last L words: unigram P_1(w) = (c(w) + 1/V) / (c(.) + 1); bigram, after the word u,
P_2(w | u) = (c(u w) + P_1(w)) / (c(u .) + 1). Both sum to 1 and give no word nothing, also when nothing was read.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.core.common.settings import NgramSettings
from pipeline.core.ngrams.counts import Store
from pipeline.core.ngrams.model import Model


@dataclass(frozen=True)
class Cache(Model):
    """The unigram cache (order 1) or the bigram cache (order 2)."""

    order: int
    length: int  # L, words
    vocabulary: int  # V

    def log_probabilities(self, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """See Model."""
        words = np.concatenate([before[len(before) - min(len(before), self.length + 1) :], ids]).astype(np.int64)
        read = np.minimum(np.arange(len(words)), self.length)
        p = (earlier(words, self.length) + 1 / self.vocabulary) / (read + 1)
        if self.order == 2:
            context = np.concatenate([[self.vocabulary], words[:-1]])  # before the first stands no word
            pairs = earlier(context * (self.vocabulary + 1) + words, self.length)
            p = (pairs + p) / (earlier(context, self.length) + 1)
        return np.log(p[len(words) - len(ids) :]).astype(np.float32)

    def next(self, before: np.ndarray) -> np.ndarray:
        """See Model; as one stream, the cache would hold the other words of it."""
        held = before[-self.length :]
        p = (np.bincount(held, minlength=self.vocabulary) + 1 / self.vocabulary) / (len(held) + 1)
        if self.order == 2 and len(before):
            followed = before[-self.length - 1 : -1] == before[-1]
            followers = before[len(before) - len(followed) :][followed]
            p = (np.bincount(followers, minlength=self.vocabulary) + p) / (len(followers) + 1)
        return np.log(p).astype(np.float32)


def make(
    ngram: NgramSettings,
    train: np.ndarray,
    valid: np.ndarray,
    vocabulary: Sequence[str],
    classes: np.ndarray | None,
    store: Store,
) -> Model:
    """See model.make."""
    return Cache(ngram.order, ngram.length, len(vocabulary))


def earlier(keys: np.ndarray, length: int) -> np.ndarray:
    """How often the key of each place (T,) stands among the `length` places before it."""
    places = np.arange(len(keys))
    order = np.argsort(keys, kind="stable")
    _, of_key = np.unique(keys, return_inverse=True)
    ranks = of_key * len(keys)  # so that places of one key follow one another: ranks + places rise in this order
    sorted_places = (ranks + places)[order]
    first = np.searchsorted(sorted_places, (ranks + np.maximum(places - length, 0))[order])
    result = np.empty(len(keys), dtype=np.int64)
    result[order] = np.arange(len(keys)) - first
    return result
