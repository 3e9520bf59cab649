"""A cache model (Kuhn and De Mori 1990): n-gram probabilities from the last L words, for mixtures that adapt to a text.

With counts c over the last L words: unigram P_1(w) = (c(w) + 1/V) / (c(.) + 1); bigram, after the word u,
P_2(w | u) = (c(u w) + P_1(w)) / (c(u .) + 1). Both sum to 1 and are positive for every word, also for an empty cache.
"""

from dataclasses import dataclass

import numpy as np

from pipeline.core.common.settings import NgramSettings
from pipeline.core.ngrams.model import Model, Source


@dataclass(frozen=True)
class Cache(Model):
    """The unigram cache (order 1) or the bigram cache (order 2)."""

    order: int
    length: int  # L, words
    vocabulary: int  # V

    def log_probabilities(self, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """See Model."""
        words = np.concatenate([before[len(before) - min(len(before), self.length + 1) :], ids]).astype(np.int64)
        sizes = np.minimum(np.arange(len(words)), self.length)  # words in the cache
        p = (earlier(words, self.length) + 1 / self.vocabulary) / (sizes + 1)
        if self.order == 2:
            context = np.concatenate([[self.vocabulary], words[:-1]])  # the first word has no word before it
            pairs = earlier(context * (self.vocabulary + 1) + words, self.length)
            p = (pairs + p) / (earlier(context, self.length) + 1)
        return np.log(p[len(words) - len(ids) :]).astype(np.float32)

    def next(self, before: np.ndarray) -> np.ndarray:
        """See Model, whose single stream does not work here: the cache would count the words before in that stream."""
        recent = before[-self.length :]
        p = (np.bincount(recent, minlength=self.vocabulary) + 1 / self.vocabulary) / (len(recent) + 1)
        if self.order == 2 and len(before):
            matches = before[-self.length - 1 : -1] == before[-1]
            followers = before[len(before) - len(matches) :][matches]
            p = (np.bincount(followers, minlength=self.vocabulary) + p) / (len(followers) + 1)
        return np.log(p).astype(np.float32)


def make(ngram: NgramSettings, source: Source) -> Model:
    """See model.make."""
    return Cache(ngram.order, ngram.length, len(source.vocabulary))


def earlier(keys: np.ndarray, length: int) -> np.ndarray:
    """For each place (T,): how often its key occurs at the `length` places before it."""
    places = np.arange(len(keys))
    order = np.argsort(keys, kind="stable")
    _, of_key = np.unique(keys, return_inverse=True)
    ranks = of_key * len(keys)  # so that places of one key follow one another: ranks + places rise in this order
    sorted_places = (ranks + places)[order]
    first = np.searchsorted(sorted_places, (ranks + np.maximum(places - length, 0))[order])
    result = np.empty(len(keys), dtype=np.int64)
    result[order] = np.arange(len(keys)) - first
    return result
