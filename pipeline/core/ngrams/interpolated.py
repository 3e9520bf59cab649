"""The deleted interpolation trigram (Jelinek and Mercer 1980; paper, section 4.1).

P(w_t | context) = a_0(q) p_0 + a_1(q) p_1(w_t) + a_2(q) p_2(w_t | w_{t-1}) + a_3(q) p_3(w_t | w_{t-2}, w_{t-1})
p_0 = 1/|V|; p_1 to p_3: relative frequencies of the training part, where p_2 := p_1 and p_3 := p_2 after a context
that training never shows, so that the sum over words is 1. One set of weights for each bin
q = ceil(-log((1 + freq(w_{t-2}, w_{t-1})) / T)) of the context's frequency, by EM on validation.
"""

from dataclasses import dataclass

import numpy as np

from pipeline.core import conditional
from pipeline.core.ngrams.counts import NEVER, Counts, count

ORDER = 3


@dataclass(frozen=True)
class Interpolated:
    """A fitted model."""

    counts: Counts
    weights: conditional.BinWeights  # of p_0 to p_3
    order: int = ORDER

    def log_probabilities(self, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """Natural-log probability (T,) float32 of each of `ids` (T,), of which `before` are the words before."""
        components, bins = _components(self.counts, before, ids)
        return np.log(np.einsum("kt,tk->t", components, self.weights.of(bins))).astype(np.float32)


def fit(train: np.ndarray, valid: np.ndarray, vocabulary: int, tolerance: float) -> Interpolated:
    """Counts on the training ids, weights on the validation ids, which follow them.

    tolerance: EM of a bin ends when the mean log-likelihood rises by less.
    """
    counts = count(train, ORDER, vocabulary)
    components, bins = _components(counts, train, valid)
    with np.errstate(divide="ignore"):
        return Interpolated(counts, conditional.fit(np.log(components), bins, tolerance))


def context_bins(counts: Counts, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """The bin (T,) of the two words before each of `ids` (T,), of which `before` are the words before."""
    context = before[-(ORDER - 1) :]
    pairs = counts.places(np.concatenate([context, ids]))[1]
    place = np.concatenate([[NEVER], pairs[:-1]])[len(context) :]
    return conditional.bins_of(counts.tables[1].count(place), counts.tokens)


def _components(counts: Counts, before: np.ndarray, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """p_0 to p_3 (4, T), and the bin of each token's context (T,)."""
    context = before[-(ORDER - 1) :]
    stream = np.concatenate([context, ids])
    places = counts.places(stream)
    skip = len(context)

    def of_context(array: np.ndarray) -> np.ndarray:
        """What belongs to the word before each token."""
        return np.concatenate([[NEVER], array[:-1]])[skip:]

    p = np.empty((ORDER + 1, len(ids)))
    p[0] = 1 / counts.vocabulary
    p[1] = counts.tables[0].count(places[0][skip:]) / counts.tokens
    for k in (2, 3):
        followers = counts.continuations(k - 1)
        place = of_context(places[k - 2])
        total = np.where(place == NEVER, 0, followers[place])
        own = counts.tables[k - 1].count(places[k - 1][skip:])
        p[k] = np.where(total > 0, own / np.maximum(total, 1), p[k - 1])
    frequency = counts.tables[1].count(of_context(places[1]))
    return p, conditional.bins_of(frequency, counts.tokens)
