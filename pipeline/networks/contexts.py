"""The words before each token of a stream."""

import numpy as np


def contexts(ids: np.ndarray, before: np.ndarray, n: int, mark: int) -> np.ndarray:
    """The n-1 words before each token, the nearest last.

    ids: (T,) a split; before: the ids that precede it in the stream, of which the last n-1 are used; where they
    are too few, text marks stand in, as context only. Returns a view (T, n-1).
    """
    padding = np.full(n - 1, mark, dtype=ids.dtype)
    padded = np.concatenate([padding, before[-(n - 1) :], ids])[-(len(ids) + n - 1) :]
    return np.lib.stride_tricks.sliding_window_view(padded[:-1], n - 1)
