"""An n-gram model from its settings and a corpus."""

import numpy as np

from pipeline.core.common.settings import Settings
from pipeline.core.ngrams import cache, classes, counts, interpolated, kneser_ney
from pipeline.core.ngrams.model import Model


def fit(
    ngram: Settings,
    train: np.ndarray,
    valid: np.ndarray,
    vocabulary: int,
    of_words: np.ndarray | None = None,
    store: counts.Store = counts.MEMORY,
) -> Model:
    """The model, counted on training and, where it has weights, fitted on validation.

    ngram: of conf/ngrams.yaml; vocabulary: words, V; of_words: the class (V,) of each, for a class model;
    store: where the counts of Kneser-Ney lie.
    Raises UnusableError where the counts leave discounts undefined.
    """
    if ngram.kind == "interpolated":
        return interpolated.fit(train, valid, vocabulary, ngram.tolerance)
    if ngram.kind == "cache":
        return cache.Cache(ngram.order, ngram.length, vocabulary)
    if ngram.kind == "class":
        return classes.fit(train, of_words, ngram.order, ngram.added, ngram.backoff, ngram.drop, ngram.undefined)
    counted = counts.count(train, ngram.order, vocabulary, store)
    return kneser_ney.fit(counted, ngram.backoff, ngram.drop, ngram.undefined)


def memory(tokens: int, order: int) -> int:
    """Bytes of Kneser-Ney's counts at most, where hardly an n-gram comes twice: arrays of 8 bytes a token.

    Of each order an n-gram's key, count, suffix, probability and back-off weight; three more pass by.
    """
    return 8 * tokens * (5 * order + 3)
