"""The neural cache (Grave, Joulin and Usunier, Improving neural language models with a continuous cache, 2017).

A word that occurred recently in a text is more frequent there than in training. With z_t, the network's last state
before word t, the cache gives word w the probability

    P_cache(w) = sum of exp(theta z_t . z_i) over all i with w_i = w, divided by the sum over all i,

where i goes through the last words before t, as many as the cache holds. The network itself does not change.
"""

import numpy as np
import torch

from pipeline.core.streams.network import StreamNetwork

BLOCK = 256  # words that are looked up in the cache at a time


@torch.no_grad()
def log_probabilities(
    network: StreamNetwork, ids: np.ndarray, before: np.ndarray, mark: int, size: int, thetas: list[float]
) -> np.ndarray:
    """log P_cache (K, T) float32 of each token of a split for each theta; -inf where the cache does not hold the word.

    ids: (T,) a split; before: the words that precede it in the stream, of which the last `size` are in the cache at the
    start; mark: id of the text mark; size: words in the cache.
    """
    cached = min(size, len(before))
    words = torch.from_numpy(np.concatenate([before[len(before) - cached :], ids]).astype(np.int64))
    z = network.states(words.numpy(), before[: len(before) - cached], mark)
    scored = np.empty((len(thetas), len(ids)), dtype=np.float32)
    for first in range(cached, len(words), BLOCK):
        end = min(first + BLOCK, len(words))
        start = max(0, first - size)
        scores = z[first:end] @ z[start:end].T  # (B, N): of each word with the words before it, and some after it
        behind = torch.arange(first, end)[:, None] - torch.arange(start, end)
        outside = (behind < 1) | (behind > size)
        same = words[first:end, None] == words[start:end]
        for k, theta in enumerate(thetas):
            exponents = (theta * scores).masked_fill(outside, -torch.inf)
            target = torch.logsumexp(exponents.masked_fill(~same, -torch.inf), 1)
            scored[k, first - cached : end - cached] = (target - torch.logsumexp(exponents, 1)).numpy()
    return scored
