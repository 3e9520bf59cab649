"""Word classes by exchange (Kneser and Ney 1993; Martin, Liermann and Ney 1998).

Each word in turn moves to the class that makes the class bigram model of the training stream likeliest: the sum over
bigrams of classes of N(g, h) log N(g, h), less that of N(g .) log N(g .) and of N(. h) log N(. h), up to what does not
depend on the classes. A pass over the vocabulary that gains almost nothing is the last. Moving word w changes only
the rows and columns of its old and its new class, and those by its own bigrams with each class, so that a try costs
what w's neighbours span.
"""

import math
from collections.abc import Callable

import numba
import numpy as np


def perplexity(ids: np.ndarray, classes: np.ndarray) -> float:
    """Of the maximum-likelihood class bigram on its own training stream: P(w | v) = P(w | c(w)) P(c(w) | c(v)).

    ids: (T,); classes: (V,), the class of each word.
    """
    before, after = classes[ids[:-1]].astype(np.int64), classes[ids[1:]]
    pairs = np.unique(before * (classes.max() + 1) + after, return_counts=True)[1]
    marginals = _xlogx(np.bincount(before)) + _xlogx(np.bincount(after))
    return math.exp(-(_xlogx(np.bincount(ids[1:])) + _xlogx(pairs) - marginals) / (len(ids) - 1))


def _xlogx(counts: np.ndarray) -> float:
    counts = counts[counts > 0].astype(float)
    return float(np.sum(counts * np.log(counts)))


def exchange(
    ids: np.ndarray,
    vocabulary: int,
    classes: int,
    tolerance: float,
    passes: int,
    annealing: int = 0,
    temperature: float = 0.0,
    seed: int = 0,
    progress: Callable[[float], object] = lambda gain: None,
) -> np.ndarray:
    """The class (V,) of each word. Deterministic: words by falling frequency, begun as in mkcls: the most frequent
    words each in a class of its own, the others in the last.

    tolerance: passes end when one gains less than this a word of the stream; progress is called with each gain.
    annealing: so many passes come first in which a move is drawn with probability proportional to exp(gain / T),
    where T, in nats of the whole stream's log-likelihood, falls from `temperature` to nothing.
    A word that the stream does not show stays where it began.
    """
    frequency = np.bincount(ids, minlength=vocabulary)
    order = np.argsort(-frequency, kind="stable")
    state = np.full(vocabulary, classes - 1, dtype=np.int32)
    state[order[: classes - 1]] = np.arange(classes - 1)
    right = _neighbours(ids[:-1], ids[1:], vocabulary)
    left = _neighbours(ids[1:], ids[:-1], vocabulary)
    pair = np.zeros((classes, classes), dtype=np.int32)
    np.add.at(pair, (state[ids[:-1]], state[ids[1:]]), 1)
    xlogx = np.arange(len(ids) + 1, dtype=np.float64)
    xlogx[1:] *= np.log(xlogx[1:])
    words = order[frequency[order] > 0].astype(np.int32)
    row, column = pair.sum(1), pair.sum(0)
    _seed(seed)
    for done in range(annealing):
        heat = temperature * (1 - done / annealing)
        progress(_pass(words, state, pair, row, column, right, left, xlogx, heat))
    for _ in range(passes):
        gain = _pass(words, state, pair, row, column, right, left, xlogx, 0.0)
        progress(gain)
        if gain < tolerance * len(ids):
            break
    return state


def _neighbours(words: np.ndarray, others: np.ndarray, vocabulary: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each word where its neighbours begin (V+1,), then the neighbours and how often each stands there."""
    keys, counts = np.unique(words.astype(np.int64) * vocabulary + others, return_counts=True)
    begin = np.searchsorted(keys, np.arange(vocabulary + 1, dtype=np.int64) * vocabulary)
    return begin, (keys % vocabulary).astype(np.int32), counts.astype(np.int32)


@numba.njit(cache=True)
def _pass(words, state, pair, row, column, right, left, xlogx, heat):
    """Every word once: to the class where the objective is highest. Returns the gain in log-likelihood.

    state (V,), pair (K, K), row (K,), column (K,): classes of the words, bigrams of classes and their sums, changed
    in place. right, left: what _neighbours gives. xlogx: n log n by n. heat: T of the draw, 0 for the best class.
    """
    classes = len(row)
    transposed = pair.T.copy()  # so that both directions run along rows
    score = np.empty(classes)
    whole = 0.0
    for word in words:
        old = state[word]
        following, after, twin, out = _by_class(word, state, right, classes)
        preceding, before, _, into = _by_class(word, state, left, classes)
        _move(pair, transposed, old, following, after, preceding, before, twin, -1)
        row[old] -= out
        column[old] -= into
        for g in range(classes):
            score[g] = xlogx[row[g]] - xlogx[row[g] + out] + xlogx[column[g]] - xlogx[column[g] + into]
        for other in following:
            more = after[other]
            for g in range(classes):
                n = transposed[other, g]
                score[g] += xlogx[n + more] - xlogx[n]
        for other in preceding:
            more = before[other]
            for g in range(classes):
                n = pair[other, g]
                score[g] += xlogx[n + more] - xlogx[n]
        for g in range(classes):  # the cell (g, g) takes what follows, what precedes and the word's own twins at once
            n = pair[g, g]
            score[g] += xlogx[n + after[g] + before[g] + twin] - xlogx[n + after[g]] - xlogx[n + before[g]] + xlogx[n]
        new = old
        if heat > 0:  # the largest of score + heat * Gumbel noise is a draw by exp(score / heat)
            best = -np.inf
            for g in range(classes):
                noisy = score[g] - heat * np.log(-np.log(np.random.random()))
                if noisy > best:
                    best, new = noisy, g
        else:
            for g in range(classes):
                if score[g] > score[new] + 1e-9:  # a tie, but for rounding, stays
                    new = g
        whole += score[new] - score[old]
        _move(pair, transposed, new, following, after, preceding, before, twin, 1)
        row[new] += out
        column[new] += into
        state[word] = new
    return whole


@numba.njit
def _seed(seed):
    """Numba draws from a generator of its own."""
    np.random.seed(seed)


@numba.njit(cache=True)
def _by_class(word, state, neighbours, classes):
    """A word's neighbours by their class: the classes, the count of each (K,), twins (the word itself), and all."""
    begin, words, counts = neighbours
    of_class = np.zeros(classes, np.int32)
    present = np.empty(classes, np.int32)
    number, twin, total = 0, 0, 0
    for i in range(begin[word], begin[word + 1]):
        total += counts[i]
        if words[i] == word:
            twin = counts[i]
            continue
        g = state[words[i]]
        if of_class[g] == 0:
            present[number] = g
            number += 1
        of_class[g] += counts[i]
    return present[:number], of_class, twin, total


@numba.njit(cache=True)
def _move(pair, transposed, g, following, after, preceding, before, twin, sign):
    """Adds a word's bigrams to class g (sign 1), or takes them out (sign -1)."""
    for other in following:
        pair[g, other] += sign * after[other]
        transposed[other, g] += sign * after[other]
    for other in preceding:
        pair[other, g] += sign * before[other]
        transposed[g, other] += sign * before[other]
    pair[g, g] += sign * twin
    transposed[g, g] += sign * twin
