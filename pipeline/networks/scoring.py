"""Exact log-probabilities of a stream, batch after batch."""

from collections.abc import Callable

import numpy as np
import torch

from pipeline.networks.base import Network

BATCH = 1024  # contexts at a time


def log_probabilities(
    network: Network,
    context: np.ndarray,
    target: np.ndarray,
    progress: Callable[[int], object] = lambda words: None,
) -> np.ndarray:
    """Natural-log probability (T,) float32 of each target (T,) after its context (T, n-1), ids.

    network: from here on in evaluation mode; progress: told of words done.
    """
    device = network.eval().b.device
    result = np.empty(len(target), dtype=np.float32)
    for start in range(0, len(target), BATCH):
        part = slice(start, start + BATCH)
        words = torch.from_numpy(context[part].astype(np.int64)).to(device)
        targets = torch.from_numpy(target[part].astype(np.int64)).to(device)
        result[part] = network.log_probabilities(words, targets).cpu().numpy()
        progress(len(targets))
    return result
