"""The deleted interpolation trigram (Jelinek and Mercer 1980; paper, section 4.1).

P(w_t | context) = a_0(q) p_0 + a_1(q) p_1(w_t) + a_2(q) p_2(w_t | w_{t-1}) + a_3(q) p_3(w_t | w_{t-2}, w_{t-1})
p_0 = 1/|V|; p_1 to p_3: relative frequencies in training. After a context that never occurs in training, p_2 := p_1 and
p_3 := p_2, so that the sum over words is 1. Each bin q = ceil(-log((1 + freq(w_{t-2}, w_{t-1})) / T)) of the context's
frequency has its own weights, fitted by EM on validation.
"""

from dataclasses import dataclass

import numpy as np

from pipeline.core.common.settings import NgramSettings
from pipeline.core.ngrams import bins
from pipeline.core.ngrams.counts import NEVER, Counts, count, of_the_word_before
from pipeline.core.ngrams.model import Model, Source

ORDER = 3


@dataclass(frozen=True)
class Interpolated(Model):
    """A fitted trigram."""

    counts: Counts
    weights: bins.BinWeights  # of p_0 to p_3
    order: int = ORDER

    @property
    def vocabulary(self) -> int:
        """V, words."""
        return self.counts.vocabulary

    def log_probabilities(self, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """See Model."""
        components, binned = _components(self.counts, before, ids)
        return np.log(np.einsum("kt,tk->t", components, self.weights.of(binned))).astype(np.float32)


def make(ngram: NgramSettings, source: Source) -> Model:
    """See model.make."""
    return fit(source.train, source.valid, len(source.vocabulary), ngram.tolerance)


def fit(train: np.ndarray, valid: np.ndarray, vocabulary: int, tolerance: float) -> Interpolated:
    """Counts on the training ids, weights on the validation ids, which follow them.

    tolerance: EM of a bin stops when the mean log-likelihood rises by less.
    """
    counts = count(train, ORDER, vocabulary)
    components, binned = _components(counts, train, valid)
    with np.errstate(divide="ignore"):
        return Interpolated(counts, bins.fit(np.log(components), binned, tolerance))


def _components(counts: Counts, before: np.ndarray, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """p_0 to p_3 (4, T), and the bin of each token's context (T,)."""
    places, context = _places(counts, before, ids)
    p = np.empty((ORDER + 1, len(ids)))
    p[0] = 1 / counts.vocabulary
    p[1] = counts.tables[0].count(places[0]) / counts.tokens
    for k in (2, 3):
        place = context[k - 2]
        total = np.where(place == NEVER, 0, counts.continuations(k - 1)[place])
        p[k] = np.where(total > 0, counts.tables[k - 1].count(places[k - 1]) / np.maximum(total, 1), p[k - 1])
    return p, bins.bins_of(counts.tables[1].count(context[1]), counts.tokens)


def _places(counts: Counts, before: np.ndarray, ids: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """For k = 1 to n: the place (T,) of the k-gram that ends at each token, and of the one that ends before it."""
    first = before[-(ORDER - 1) :]
    places = counts.places(np.concatenate([first, ids]))
    skip = len(first)
    return [place[skip:] for place in places], [of_the_word_before(place)[skip:] for place in places]
