"""The trigram's probabilities of all words after a context, and the likeliest words: the short lists of NIPS 2000."""

import numpy as np

from pipeline.core.ngrams import bins
from pipeline.core.ngrams.counts import NEVER
from pipeline.core.ngrams.interpolated import Interpolated


def distributions(trigram: Interpolated, context: np.ndarray) -> np.ndarray:
    """The probabilities (B, V) float32 of all words after each context of two words (B, 2), ids."""
    counts, words = trigram.counts, trigram.counts.vocabulary
    unigrams, bigrams, trigrams = counts.tables
    last = context[:, 1].astype(np.int64)
    pair = bigrams.find(context[:, 0].astype(np.int64) * words + last)
    a = trigram.weights.of(bins.bins_of(bigrams.count(pair), counts.tokens)).T.copy()
    p = np.zeros((len(context), words), dtype=np.float32)
    for k, place, table in ((3, pair, trigrams), (2, last, bigrams)):
        followers = np.where(place == NEVER, 0, counts.continuations(k - 1)[place])
        a[k - 1] += np.where(followers > 0, 0, a[k])  # p_k is p_{k-1} after a context that training never shows
        known = np.flatnonzero(followers)
        first, end = (np.searchsorted(table.keys, (place[known] + offset) * words) for offset in (0, 1))
        sizes = end - first
        row, entry = np.repeat(known, sizes), np.arange(sizes.sum()) + np.repeat(end - np.cumsum(sizes), sizes)
        p[row, table.keys[entry] % words] += a[k, row] * table.counts[entry] / followers[row]
    return p + np.outer(a[1], unigrams.counts / counts.tokens).astype(np.float32) + np.float32(a[0] / words)[:, None]


def likeliest(trigram: Interpolated, context: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The words L (B, size) that a trigram finds likeliest after each context (B, 2), and their probabilities."""
    p = distributions(trigram, context)
    words = np.argpartition(-p, size - 1, axis=1)[:, :size]
    return words, np.take_along_axis(p, words, axis=1)
