"""Modified Kneser-Ney smoothing (Chen and Goodman 1999), interpolated and in back-off form.

With a(g) the adjusted count of an n-gram g (order n: its count; below: how many different words stand before it),
h the first k-1 words of g = h w, and h' those without their first:
    interpolated  P_k(w | h) = (a(hw) - D(a)) / a(h.) + gamma(h) P_{k-1}(w | h')
                  gamma(h) = (D_1 N_1(h.) + D_2 N_2(h.) + D_3 N_3+(h.)) / a(h.)
    back-off      P_k(w | h) = (a(hw) - D(a)) / a(h.) where hw was seen, else alpha(h) P_{k-1}(w | h')
                  alpha(h) = (1 - sum of the first over seen w) / (1 - sum of P_{k-1}(w | h') over seen w)
A dropped n-gram counts as never seen, in the interpolated form too, where it then has alpha(h) P_{k-1}(w | h').
P_0 = 1/|V|, with which the interpolated form's order 1 is interpolated. In the back-off form order 1 has no shorter one
to back off to: what its discounts leave goes in equal parts to the words that training never shows, or to all words
where training shows each (SRILM, NgramLM.cc, distributeProb). A context that training never shows passes on P_{k-1}.
Where every word of the vocabulary has its own probability after h, the back-off form has no word to pass the discounted
mass on to, and alpha(h) is 0/0. There the own probabilities are divided by their sum, and alpha(h) = 1 stands in the
ARPA file for other tools; SRILM does the same (NgramLM.cc, "scaling probabilities to sum to 1").

Streams of classes have no unigram counts of 1 to 3, so their discounts of order 1 are undefined. SRILM refuses them;
with order 1 left to its other default, Good-Turing, it discounts nothing there and takes the relative frequencies.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from pipeline.core.common.errors import InputError
from pipeline.core.common.settings import NgramSettings
from pipeline.core.ngrams.backoff import Backoff
from pipeline.core.ngrams.counts import Counts, Store, count
from pipeline.core.ngrams.model import Model

FIXED = (0.5, 1.0, 1.5)  # where counts of counts leave the discounts undefined, as KenLM has them


def adjusted_counts(counts: Counts, k: int) -> np.ndarray:
    """a(g) of each k-gram (N_k,): its count at the highest order, below it the number of different words before it.

    Before the first word of the stream stands its beginning, which counts as one.
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


def make(
    ngram: NgramSettings,
    train: np.ndarray,
    valid: np.ndarray,
    vocabulary: Sequence[str],
    classes: np.ndarray | None,
    store: Store,
) -> Model:
    """See model.make."""
    counted = count(train, ngram.order, len(vocabulary), store)
    return fit(counted, ngram.backoff, ngram.drop, ngram.undefined)


def fit(counts: Counts, backoff: bool = False, drop: bool = False, undefined: str = "error") -> Backoff:
    """The smoothed model of these counts.

    backoff: the back-off form. drop: n-grams of order >= 3 with an adjusted count of 1 are left out, their mass goes
    to back-off (SRILM's default). undefined: what to do with an order whose counts leave its discounts undefined:
    `error`, `fixed` (the discounts FIXED) or `relative` (order 1 alone: the relative frequencies of training).
    Raises InputError where they are undefined and nothing is said to do.
    """
    log_p: list[np.ndarray] = []
    log_backoff: list[np.ndarray] = []
    lower = np.full(1, 1 / counts.vocabulary)  # P_{k-1} of each (k-1)-gram; at first P_0
    for k, table in enumerate(counts.tables, start=1):
        adjusted = adjusted_counts(counts, k)
        discount_of = discounts(adjusted)
        if discount_of is None and undefined == "relative" and k == 1:
            adjusted, discount_of = table.counts, (0.0, 0.0, 0.0)
        elif discount_of is None and undefined == "fixed":
            discount_of = FIXED
        elif discount_of is None:
            raise InputError(
                f"Kneser-Ney of order {k}: counts of counts {counts_of_counts(adjusted)[1:].tolist()} leave the "
                "discounts undefined; the text is too small or too regular: set ngram.undefined=fixed for fixed "
                "discounts"
            )
        by_count = np.array([0, *discount_of])  # of counts 0, 1, 2, 3 and more
        log_own, smoothed = (counts.store.empty(len(table.keys), float) for _ in range(2))
        log_passed_on = counts.store.empty(_contexts(counts, k), float)
        for part, after in _parts(counts, k):
            contexts, context = after.stop - after.start, table.keys[part] // counts.vocabulary - after.start
            a, shorter = adjusted[part], lower[table.suffixes[part]]
            total, discount = np.bincount(context, a, contexts), by_count[a.clip(max=3)]
            own = (a - discount) / total[context]
            passed_on = _ratio(np.bincount(context, discount, contexts), total)  # gamma
            if k == 1 and backoff:
                shorter = uniform(a == 0)
            if k == 1 or not backoff:
                own += passed_on[context] * shorter
            kept = (a > 1) if drop and k >= 3 else np.ones(len(own), dtype=bool)
            if k > 1 and (backoff or not kept.all()):  # alpha
                seen, seen_shorter = (np.bincount(context[kept], p[kept], contexts) for p in (own, shorter))
                # Counted, for 1 - seen_shorter is 0 there but for rounding.
                full = np.bincount(context[kept], minlength=contexts) == counts.vocabulary
                own = np.where(full[context], own / np.where(full, seen, 1)[context], own)
                passed_on = np.where(full, 1, _ratio(1 - seen, 1 - seen_shorter))
            # A dropped n-gram is what back-off makes of it, for the orders above.
            smoothed[part] = np.where(kept, own, passed_on[context] * shorter)
            log_own[part] = np.log(np.where(kept, own, np.nan))
            if k > 1:
                log_passed_on[after] = np.log(passed_on)
        lower = smoothed
        log_p.append(log_own)
        if k > 1:
            log_backoff.append(log_passed_on)
    return Backoff(counts, log_p, log_backoff)


def uniform(words: np.ndarray) -> np.ndarray:
    """The uniform distribution (V,) over some words, by mask (V,); over all where it names none."""
    chosen = words if words.any() else np.ones(len(words), dtype=bool)
    return chosen / chosen.sum()


def _contexts(counts: Counts, k: int) -> int:
    """How many contexts of k-1 words there are: 1 for k = 1."""
    return len(counts.tables[k - 2].keys) if k > 1 else 1


def _parts(counts: Counts, k: int) -> Iterator[tuple[slice, slice]]:
    """The k-grams that are worked on together, and their contexts, whose k-grams are all among them."""
    keys, at_once = counts.tables[k - 1].keys, counts.store.at_once
    starts = np.unique([0, *keys[at_once::at_once] // counts.vocabulary, _contexts(counts, k)])
    for low, high in pairwise(starts):
        yield slice(*np.searchsorted(keys, [low * counts.vocabulary, high * counts.vocabulary])), slice(low, high)


def _ratio(mass: np.ndarray, total: np.ndarray) -> np.ndarray:
    """mass / total; 1 for a context that nothing follows, which passes everything on."""
    return np.divide(mass, total, out=np.ones(len(mass)), where=total > 0)
