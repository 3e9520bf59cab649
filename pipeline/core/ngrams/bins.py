"""Mixture weights that depend on the context's frequency in training: one set of weights per frequency bin.

The paper's trigram uses them (section 4.1), and so does the mixture of network and trigram of NIPS 2000.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from pipeline.core.common.mixture import fit_weights
from pipeline.core.ngrams.counts import Counts, of_the_word_before


@dataclass(frozen=True)
class BinWeights:
    """Fitted weights of K components."""

    weights: dict[int, np.ndarray]  # bin q: a (K,)
    everywhere: np.ndarray  # (K,), fitted on all tokens: for a bin without tokens to fit on

    def of(self, bins: np.ndarray) -> np.ndarray:
        """The weights (T, K) of the bins (T,)."""
        bins, place = np.unique(bins, return_inverse=True)
        return np.stack([self.weights.get(q, self.everywhere) for q in bins.tolist()])[place]


def bins_of(frequency: np.ndarray, tokens: int) -> np.ndarray:
    """q = ceil(-log((1 + frequency) / T)), from 0 (the most frequent contexts) up."""
    return np.ceil(-np.log((1 + frequency) / tokens)).clip(min=0).astype(np.int64)


def context_bins(counts: Counts, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """The bin (T,) of the two words before each of `ids` (T,); before: the words that precede `ids`."""
    first = before[-2:]
    bigrams = counts.places(np.concatenate([first, ids]))[1]
    return bins_of(counts.tables[1].count(of_the_word_before(bigrams)[len(first) :]), counts.tokens)


def fit(log_probabilities: np.ndarray, bins: np.ndarray, tolerance: float) -> BinWeights:
    """The weights that maximise the likelihood of these tokens, by EM in each bin.

    log_probabilities: (K, T); bins: (T,); tolerance: EM ends when the mean log-likelihood rises by less.
    """
    weights = {int(q): fit_weights(log_probabilities[:, bins == q], tolerance) for q in np.unique(bins)}
    return BinWeights(weights, fit_weights(log_probabilities, tolerance))


def mix(log_probabilities: np.ndarray, bins: np.ndarray, weights: BinWeights) -> np.ndarray:
    """log sum_k a_k(q) P_k, (T,) float32, from log P_k (K, T) and the bins (T,)."""
    with np.errstate(divide="ignore"):
        return logsumexp(log_probabilities + np.log(weights.of(bins)).T, axis=0).astype(np.float32)
