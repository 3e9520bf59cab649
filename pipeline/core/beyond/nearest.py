"""The words whose features are most similar to those of a word."""

import numpy as np


def nearest(features: np.ndarray, word: int, count: int, among: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The `count` words whose features (V, m) have the largest cosine with those of `word`: ids, and falling cosines.

    among: mask (V,) of the words that may be named; the word itself never is.
    """
    unit = features / np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-12)
    cosine = np.where(among, unit @ unit[word], -np.inf)
    cosine[word] = -np.inf
    best = np.argsort(-cosine, kind="stable")[:count]
    best = best[np.isfinite(cosine[best])]
    return best, cosine[best]
