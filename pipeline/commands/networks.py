"""A trained network as a language model. Apart from models.py, so that n-grams don't wait for torch."""

from dataclasses import dataclass

import numpy as np
import torch
from tqdm import tqdm

from pipeline.networks.base import Network, contexts, score


@dataclass(frozen=True)
class NetworkModel:
    """See models.LanguageModel."""

    network: Network
    mark: int

    def log_probabilities(self, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """See models.LanguageModel."""
        context = contexts(ids, before, self.network.architecture.n, self.mark)
        with tqdm(total=len(ids), unit="w", unit_scale=True, desc="scoring", delay=1, disable=None) as bar:
            return score(self.network, context, ids, bar.update)

    def next(self, before: np.ndarray) -> np.ndarray:
        """See models.LanguageModel."""
        empty = np.zeros(1, dtype=np.int64)  # the place to be filled
        context = contexts(empty, before.astype(np.int64), self.network.architecture.n, self.mark)
        with torch.no_grad():
            return self.network.distribution(torch.from_numpy(context.copy()))[0].numpy()
