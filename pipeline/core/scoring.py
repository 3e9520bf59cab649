"""Exact log-probabilities by the full softmax, in blocks of words that stay in the processor's cache."""

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from pipeline.core.network import Network

SAFE = 60  # float32 holds exp of -87 to 88


@torch.no_grad()
def log_probabilities(
    network: Network,
    context: np.ndarray,
    target: np.ndarray,
    batch: int = 1024,
    block: int = 512,
    progress: Callable[[int], object] = lambda words: None,
) -> np.ndarray:
    """Natural-log probability (T,) float32 of each target (T,) after its context (T, n-1), ids.

    batch: contexts at a time; block: words of the vocabulary at a time; progress: told of words done.
    """
    device = network.b.device
    result = np.empty(len(target), dtype=np.float32)
    for start in range(0, len(target), batch):
        part = slice(start, start + batch)
        words = torch.from_numpy(context[part].astype(np.int64)).to(device)
        targets = torch.from_numpy(target[part].astype(np.int64)).to(device)
        z = network.output_inputs(words)
        own = (z * network.WU[targets]).sum(1) + network.b[targets]
        result[part] = (own - _log_partition(network, z, block)).cpu().numpy()
        progress(len(targets))
    return result


def _log_partition(network: Network, z: Tensor, block: int) -> Tensor:
    """log sum_i exp(y_i), (B,). Without the usual shift by the maximum, which costs one more pass over all logits;
    a batch that comes near the limits of exp in float32 is done again with it."""
    blocks = range(0, len(network.b), block)

    def logits(start: int) -> Tensor:
        rows = slice(start, start + block)
        return torch.addmm(network.b[rows], z, network.WU[rows].T)

    total = sum(logits(start).exp_().sum(1) for start in blocks)
    log_total = torch.log(total)
    if bool((log_total.abs() < SAFE).all()):
        return log_total
    log_total = torch.full_like(total, -math.inf)
    for start in blocks:
        log_total = torch.logaddexp(log_total, torch.logsumexp(logits(start), 1))
    return log_total
