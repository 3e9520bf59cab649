"""Modified Kneser-Ney smoothing (Chen and Goodman 1999), interpolated and in back-off form.

With a(g) the adjusted count of an n-gram g (order n: its count; lower orders: the number of different words before it),
h the first k-1 words of g = h w, and h' these without the first:
    interpolated  P_k(w | h) = (a(hw) - D(a)) / a(h.) + gamma(h) P_{k-1}(w | h')
                  gamma(h) = (D_1 N_1(h.) + D_2 N_2(h.) + D_3 N_3+(h.)) / a(h.)
    back-off      P_k(w | h) = (a(hw) - D(a)) / a(h.) where hw was seen, else alpha(h) P_{k-1}(w | h')
                  alpha(h) = (1 - sum of the first over seen w) / (1 - sum of P_{k-1}(w | h') over seen w)
A dropped n-gram counts as unseen, in the interpolated form too: there its probability is alpha(h) P_{k-1}(w | h').
P_0 = 1/|V|; order 1 of the interpolated form is interpolated with it. In the back-off form, order 1 has no lower order:
its discounted mass is divided equally among the unseen words, or among all words where none is unseen (SRILM,
NgramLM.cc, distributeProb). After a context that never occurs in training, P_k = P_{k-1}.
Where every word of the vocabulary is seen after h, the back-off form has no word for the discounted mass, and alpha(h)
is 0/0. There the probabilities of the seen words are divided by their sum, and alpha(h) = 1 is written to the ARPA file
for other tools; SRILM does the same (NgramLM.cc, "scaling probabilities to sum to 1").

Streams of classes have no unigram counts of 1 to 3, so their discounts of order 1 are undefined. SRILM refuses them.
When order 1 is left to SRILM's other default, Good-Turing, it is not discounted and has relative frequencies.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from pipeline.core.common.errors import InputError
from pipeline.core.common.settings import NgramSettings
from pipeline.core.ngrams.backoff import Backoff
from pipeline.core.ngrams.counts import Counts, count
from pipeline.core.ngrams.model import Model, Source

FIXED = (0.5, 1.0, 1.5)  # as in KenLM, where counts of counts leave the discounts undefined


def adjusted_counts(counts: Counts, k: int) -> np.ndarray:
    """a(g) of each k-gram (N_k,): its count at the highest order; at lower orders the number of different words before
    it, where the beginning of the stream counts as a word.
    """
    if k == counts.order:
        return counts.tables[k - 1].counts
    adjusted = np.bincount(counts.tables[k].suffixes, minlength=len(counts.tables[k - 1].keys))
    adjusted[counts.first[k - 1]] += 1
    return adjusted


def discounts(adjusted: np.ndarray) -> tuple[float, float, float] | None:
    """D_1, D_2, D_3+ from counts of counts: D_j = j - (j + 1) Y t_{j+1} / t_j with Y = t_1 / (t_1 + 2 t_2).

    None where they are undefined: where some t_j is zero, or a discount lies outside 0 to j.
    """
    t = counts_of_counts(adjusted)
    if (t[1:] > 0).all():
        y = t[1] / (t[1] + 2 * t[2])
        d = tuple(float(j - (j + 1) * y * t[j + 1] / t[j]) for j in (1, 2, 3))
        if all(0 <= discount <= j for j, discount in zip((1, 2, 3), d, strict=True)):
            return d
    return None


def counts_of_counts(adjusted: np.ndarray) -> np.ndarray:
    """t_0 to t_4 (5,): how many n-grams have each of these counts."""
    return np.array([np.count_nonzero(adjusted == j) for j in range(5)])


def make(ngram: NgramSettings, source: Source) -> Model:
    """See model.make."""
    counted = count(source.train, ngram.order, len(source.vocabulary), source.store)
    return fit(counted, ngram.backoff, ngram.drop, ngram.undefined)


def fit(counts: Counts, backoff: bool = False, drop: bool = False, undefined: str = "error") -> Backoff:
    """The smoothed model of these counts.

    backoff: the back-off form. drop: n-grams of order >= 3 with an adjusted count of 1 are left out, and their mass
    goes to back-off (SRILM's default). undefined: what to do where counts leave the discounts of an order undefined:
    `error`, `fixed` (the discounts FIXED) or `relative` (order 1 only: the relative frequencies of training).
    Raises InputError where they are undefined and `undefined` does not apply.
    """
    log_p: list[np.ndarray] = []
    log_backoff: list[np.ndarray] = []
    lower = np.full(1, 1 / counts.vocabulary)  # P_{k-1} of each (k-1)-gram; at first P_0
    for k, table in enumerate(counts.tables, start=1):
        adjusted = adjusted_counts(counts, k)
        order_discounts = discounts(adjusted)
        if order_discounts is None and undefined == "relative" and k == 1:
            adjusted, order_discounts = table.counts, (0.0, 0.0, 0.0)
        elif order_discounts is None and undefined == "fixed":
            order_discounts = FIXED
        elif order_discounts is None:
            raise InputError(
                f"Kneser-Ney of order {k}: counts of counts {counts_of_counts(adjusted)[1:].tolist()} leave the "
                "discounts undefined; the text is too small or too regular: set ngram.undefined=fixed for fixed "
                "discounts"
            )
        discount_by_count = np.array([0, *order_discounts])  # of counts 0, 1, 2, and 3 or more
        log_probability, smoothed = (counts.store.empty(len(table.keys), float) for _ in range(2))
        log_weight = counts.store.empty(_contexts(counts, k), float)
        for part, after in _parts(counts, k):
            contexts, context = after.stop - after.start, table.keys[part] // counts.vocabulary - after.start
            a, shorter = adjusted[part], lower[table.suffixes[part]]
            total, discount = np.bincount(context, a, contexts), discount_by_count[a.clip(max=3)]
            probability = (a - discount) / total[context]
            weight = _ratio(np.bincount(context, discount, contexts), total)  # gamma
            if k == 1 and backoff:
                shorter = uniform(a == 0)
            if k == 1 or not backoff:
                probability += weight[context] * shorter
            keep_mask = (a > 1) if drop and k >= 3 else np.ones(len(probability), dtype=bool)
            if k > 1 and (backoff or not keep_mask.all()):  # alpha
                mass, shorter_mass = (
                    np.bincount(context[keep_mask], p[keep_mask], contexts) for p in (probability, shorter)
                )
                # By counting words: 1 - shorter_mass is 0 only up to rounding.
                full = np.bincount(context[keep_mask], minlength=contexts) == counts.vocabulary
                probability = np.where(full[context], probability / np.where(full, mass, 1)[context], probability)
                weight = np.where(full, 1, _ratio(1 - mass, 1 - shorter_mass))
            # The next order sees the backed-off probability of a dropped n-gram.
            smoothed[part] = np.where(keep_mask, probability, weight[context] * shorter)
            log_probability[part] = np.log(np.where(keep_mask, probability, np.nan))
            if k > 1:
                log_weight[after] = np.log(weight)
        lower = smoothed
        log_p.append(log_probability)
        if k > 1:
            log_backoff.append(log_weight)
    return Backoff(counts, log_p, log_backoff)


def uniform(words: np.ndarray) -> np.ndarray:
    """The uniform distribution (V,) over the words of a mask (V,); over all words where the mask is empty."""
    chosen = words if words.any() else np.ones(len(words), dtype=bool)
    return chosen / chosen.sum()


def _contexts(counts: Counts, k: int) -> int:
    """The number of contexts of k-1 words: 1 for k = 1."""
    return len(counts.tables[k - 2].keys) if k > 1 else 1


def _parts(counts: Counts, k: int) -> Iterator[tuple[slice, slice]]:
    """Slices of k-grams that are processed at a time, and of their contexts, with all k-grams of each context."""
    keys, at_once = counts.tables[k - 1].keys, counts.store.at_once
    starts = np.unique([0, *keys[at_once::at_once] // counts.vocabulary, _contexts(counts, k)])
    for low, high in pairwise(starts):
        yield slice(*np.searchsorted(keys, [low * counts.vocabulary, high * counts.vocabulary])), slice(low, high)


def _ratio(mass: np.ndarray, total: np.ndarray) -> np.ndarray:
    """mass / total; 1 where total is 0, for a context that no word follows."""
    return np.divide(mass, total, out=np.ones(len(mass)), where=total > 0)
