"""A trained network as a language model. Apart from models.py, so that n-grams don't wait for torch."""

from dataclasses import dataclass

import numpy as np
from tqdm import tqdm

from pipeline.core.networks.base import Network


@dataclass(frozen=True)
class NetworkModel:
    """See models.LanguageModel."""

    network: Network
    mark: int

    def log_probabilities(self, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """See models.LanguageModel."""
        with tqdm(total=len(ids), unit="w", unit_scale=True, desc="scoring", delay=1, disable=None) as bar:
            return self.network.score(ids, self._read(before), self.mark, progress=bar.update)

    def next(self, before: np.ndarray) -> np.ndarray:
        """See models.LanguageModel."""
        return self.network.next(self._read(before), self.mark)

    def _read(self, before: np.ndarray) -> np.ndarray:
        """What a network reads of the words before: one that reads in order would read all marks that fill them up."""
        return np.trim_zeros(before - self.mark, "f") + self.mark if self.network.in_order else before
