"""Streams of any length and vocabulary, whose words are as frequent as those of a text (Zipf; Mandelbrot's shift)."""

import numpy as np


def ids(tokens: int, vocabulary: int) -> np.ndarray:
    """Word ids (tokens,), the i-th most frequent with a probability like 1 / (i + 2.7)."""
    weight = 1 / (np.arange(vocabulary) + 2.7)
    chance = np.random.default_rng(0).random(tokens)
    return np.searchsorted(np.cumsum(weight) / weight.sum(), chance).clip(max=vocabulary - 1).astype(np.int32)
