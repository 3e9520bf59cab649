"""Word features without training a network: the SVD of the co-occurrence counts of words and contexts.

Bengio and others (NIPS 2000) start C from the co-occurrences of each word with the 9,000 or so most frequent contexts
around it, reduced to m dimensions. A context here is a word at a distance: `of` one word before, `the` two words after.
"""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.linalg import svds


def features(ids: np.ndarray, vocabulary: int, m: int, contexts: int, reach: int) -> np.ndarray:
    """Word features (V, m) float32: the left singular vectors of log(1 + counts), times the roots of their singular
    values.

    ids: (T,) a stream; contexts: number of contexts counted, the most frequent ones; reach: words to either side.
    """
    offsets = [offset for distance in range(1, reach + 1) for offset in (-distance, distance)]
    words, neighbours = [], []
    for k, offset in enumerate(offsets):
        inner = slice(max(0, -offset), len(ids) - max(0, offset))
        words.append(ids[inner])
        neighbours.append(k * vocabulary + np.roll(ids, -offset)[inner].astype(np.int64))
    pairs = np.concatenate(words), np.concatenate(neighbours)
    shape = vocabulary, len(offsets) * vocabulary
    counts = coo_array((np.ones(len(pairs[0]), dtype=np.float32), pairs), shape).tocsc()
    frequent = np.sort(np.argsort(-counts.sum(0), kind="stable")[:contexts])
    vectors, values, _ = svds(counts[:, frequent].log1p(), m, v0=np.ones(min(vocabulary, len(frequent))), tol=1e-4)
    order = np.argsort(-values)
    return (vectors[:, order] * np.sqrt(values[order])).astype(np.float32)
