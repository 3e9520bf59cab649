"""Features of words without training a network: the SVD of how often each word stands beside which others.

Bengio and others (NIPS 2000) start C from the co-occurrences of each word with the 9,000 or so most frequent contexts
around it, reduced to m dimensions. A context here is a word at a place: `of` right before, `the` two behind.
"""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.linalg import svds


def features(ids: np.ndarray, vocabulary: int, m: int, contexts: int, reach: int) -> np.ndarray:
    """Features (V, m) float32: the left singular vectors of log(1 + counts), times the roots of their singular values.

    ids: (T,) a stream; contexts: how many of the most frequent are counted; reach: words to either side.
    """
    places = [place for distance in range(1, reach + 1) for place in (-distance, distance)]
    words, beside = [], []
    for k, place in enumerate(places):
        inner = slice(max(0, -place), len(ids) - max(0, place))
        words.append(ids[inner])
        beside.append(k * vocabulary + np.roll(ids, -place)[inner].astype(np.int64))
    pairs = np.concatenate(words), np.concatenate(beside)
    shape = vocabulary, len(places) * vocabulary
    counts = coo_array((np.ones(len(pairs[0]), dtype=np.float32), pairs), shape).tocsc()
    frequent = np.sort(np.argsort(-counts.sum(0), kind="stable")[:contexts])
    left, values, _ = svds(counts[:, frequent].log1p(), m, v0=np.ones(min(vocabulary, len(frequent))), tol=1e-4)
    order = np.argsort(-values)
    return (left[:, order] * np.sqrt(values[order])).astype(np.float32)
