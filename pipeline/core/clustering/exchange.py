"""Word classes by exchange (Kneser and Ney 1993; Martin, Liermann and Ney 1998).

Each word in turn moves to the class that maximises the likelihood of the training stream under the class bigram model.
Up to a constant, the log-likelihood is the sum over bigrams of classes (g, h) of N(g, h) log N(g, h), less the sums of
N(g .) log N(g .) and of N(. h) log N(. h) over classes. The last pass over the vocabulary is the one that gains almost
nothing. Moving a word changes only the rows and columns of its old and new class, and only at the classes of its
neighbours, so the cost of a trial grows with the number of these classes.
"""

import math
from collections.abc import Callable

import numba
import numpy as np


def perplexity(ids: np.ndarray, classes: np.ndarray) -> float:
    """Perplexity of the maximum-likelihood class bigram on its training stream: P(w | v) = P(w | c(w)) P(c(w) | c(v)).

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
    """The class (V,) of each word. Words move in order of falling frequency. They start as in mkcls: each of the most
    frequent words in a class of its own, all others in the last class.

    classes: number of classes; tolerance: the search stops after a pass that gains fewer nats per word of the stream;
    passes: at most so many; progress: called with the gain of each pass. annealing: number of passes before these in
    which the new class is drawn with probability proportional to exp(gain / T); T, in nats of the whole stream's
    log-likelihood, falls from `temperature` to 0. seed: of these draws. A word that is not in the stream keeps its
    first class.
    """
    frequency = np.bincount(ids, minlength=vocabulary)
    order = np.argsort(-frequency, kind="stable")
    state = np.full(vocabulary, classes - 1, dtype=np.int32)
    state[order[: classes - 1]] = np.arange(classes - 1)
    followers = _neighbours(ids[:-1], ids[1:], vocabulary)
    predecessors = _neighbours(ids[1:], ids[:-1], vocabulary)
    pair = np.zeros((classes, classes), dtype=np.int32)
    np.add.at(pair, (state[ids[:-1]], state[ids[1:]]), 1)
    xlogx = np.arange(len(ids) + 1, dtype=np.float64)
    xlogx[1:] *= np.log(xlogx[1:])
    words = order[frequency[order] > 0].astype(np.int32)
    row, column = pair.sum(1), pair.sum(0)
    _seed(seed)
    for done in range(annealing):
        heat = temperature * (1 - done / annealing)
        progress(_pass(words, state, pair, row, column, followers, predecessors, xlogx, heat))
    for _ in range(passes):
        gain = _pass(words, state, pair, row, column, followers, predecessors, xlogx, 0.0)
        progress(gain)
        if gain < tolerance * len(ids):
            break
    return state


def _neighbours(words: np.ndarray, others: np.ndarray, vocabulary: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each word the place of its first neighbour (V+1,); the neighbours, ids; and the count of each."""
    keys, counts = np.unique(words.astype(np.int64) * vocabulary + others, return_counts=True)
    begin = np.searchsorted(keys, np.arange(vocabulary + 1, dtype=np.int64) * vocabulary)
    return begin, (keys % vocabulary).astype(np.int32), counts.astype(np.int32)


@numba.njit(cache=True)
def _pass(words, state, pair, row, column, followers, predecessors, xlogx, heat):
    """Moves each word once, to the class with the highest log-likelihood. Returns the gain in log-likelihood.

    state (V,): class of each word; pair (K, K): bigrams of classes; row (K,), column (K,): sums of `pair`; these four
    are changed in place. followers, predecessors: from _neighbours. xlogx: n log n by n. heat: T of the draw; 0: the
    best class, no draw.
    """
    classes = len(row)
    transposed = pair.T.copy()  # so that both directions run along rows
    score = np.empty(classes)
    total_gain = 0.0
    for word in words:
        old = state[word]
        following, after, twin, out = _by_class(word, state, followers, classes)
        preceding, before, _, into = _by_class(word, state, predecessors, classes)
        _move(pair, transposed, old, following, after, preceding, before, twin, -1)
        row[old] -= out
        column[old] -= into
        for g in range(classes):
            score[g] = xlogx[row[g]] - xlogx[row[g] + out] + xlogx[column[g]] - xlogx[column[g] + into]
        for h in following:
            count = after[h]
            for g in range(classes):
                n = transposed[h, g]
                score[g] += xlogx[n + count] - xlogx[n]
        for h in preceding:
            count = before[h]
            for g in range(classes):
                n = pair[h, g]
                score[g] += xlogx[n + count] - xlogx[n]
        for g in range(classes):  # the cell (g, g) gets followers, predecessors and twins (the word after itself)
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
        total_gain += score[new] - score[old]
        _move(pair, transposed, new, following, after, preceding, before, twin, 1)
        row[new] += out
        column[new] += into
        state[word] = new
    return total_gain


@numba.njit
def _seed(seed):
    """Seeds Numba's generator, which is not NumPy's."""
    np.random.seed(seed)


@numba.njit(cache=True)
def _by_class(word, state, neighbours, classes):
    """A word's neighbours by class: the classes present; the count of each class (K,); the count of twins (neighbours
    that are the word itself); and the count of all neighbours."""
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
    for h in following:
        pair[g, h] += sign * after[h]
        transposed[h, g] += sign * after[h]
    for h in preceding:
        pair[h, g] += sign * before[h]
        transposed[g, h] += sign * before[h]
    pair[g, g] += sign * twin
    transposed[g, g] += sign * twin
