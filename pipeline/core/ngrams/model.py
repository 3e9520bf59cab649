"""What every n-gram model can do."""

from abc import ABC, abstractmethod

import numpy as np


class Model(ABC):
    """A model of words that looks at the order - 1 words before."""

    order: int  # n
    vocabulary: int  # V, words

    @abstractmethod
    def log_probabilities(self, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """Natural-log probability (T,) float32 of each of `ids` (T,), of which `before` are the words before."""

    def next(self, before: np.ndarray) -> np.ndarray:
        """Natural-log probability (V,) float32 of each word of the vocabulary after the words `before`."""
        # One stream in which each word stands after the same context.
        context = before[len(before) - min(self.order - 1, len(before)) :]
        every = np.arange(self.vocabulary)[:, None]
        stream = np.concatenate([np.tile(context, (self.vocabulary, 1)), every], 1).ravel()
        return self.log_probabilities(before[:0], stream)[len(context) :: len(context) + 1]
