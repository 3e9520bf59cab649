"""The neural cache (Grave, Joulin and Usunier, Improving neural language models with a continuous cache, 2017).

A word that the text has just used comes again more often than training knows. After z_t, the network's last state
before word t, the cache gives word w the probability

    P_cache(w) = sum of exp(theta z_t . z_i) over the i with w_i = w, over the sum for all i,

where i goes through the words before t, as many as the cache holds. The network learns nothing and reads as before.
"""

import numpy as np
import torch

from pipeline.core.streams.network import StreamNetwork

BLOCK = 256  # words that look into the cache at a time


@torch.no_grad()
def log_probabilities(
    network: StreamNetwork, ids: np.ndarray, before: np.ndarray, mark: int, size: int, thetas: list[float]
) -> np.ndarray:
    """log P_cache (K, T) float32 of each token of a split for each theta; -inf where the cache does not hold the word.

    ids: (T,) a split; before: what precedes it in the stream, whose last `size` words are in the cache at the start;
    mark: id of the text mark.
    """
    held = min(size, len(before))
    words = torch.from_numpy(np.concatenate([before[len(before) - held :], ids]).astype(np.int64))
    z = network.states(words.numpy(), before[: len(before) - held], mark)
    scored = np.empty((len(thetas), len(ids)), dtype=np.float32)
    for first in range(held, len(words), BLOCK):
        end = min(first + BLOCK, len(words))
        start = max(0, first - size)
        scores = z[first:end] @ z[start:end].T  # (B, N): of each word the words before it, and some after it
        behind = torch.arange(first, end)[:, None] - torch.arange(start, end)
        outside = (behind < 1) | (behind > size)
        same = words[first:end, None] == words[start:end]
        for k, theta in enumerate(thetas):
            weighed = (theta * scores).masked_fill(outside, -torch.inf)
            own = torch.logsumexp(weighed.masked_fill(~same, -torch.inf), 1)
            scored[k, first - held : end - held] = (own - torch.logsumexp(weighed, 1)).numpy()
    return scored
