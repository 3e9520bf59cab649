"""Exact log-probabilities by the full softmax, in blocks of words that stay in the processor's cache."""

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from pipeline.core.network import Network

SAFE = 30  # float32 holds exp of -87 to 88: what is lost below is at most e^-57 a word


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
    """log sum_i exp(y_i), (B,).

    exp(b_i + y_i) is taken as exp(b_i) exp(y_i), so that biases and sum are one product of matrix and vector, and
    without the usual shift by the maximum: each would be one more pass over all logits. A batch for which this comes
    near the limits of exp in float32 is done again with care.
    """
    blocks = [slice(start, start + block) for start in range(0, len(network.b), block)]
    scale = network.b.exp()
    total, space = z.new_zeros(len(z)), z.new_empty(len(z), block)
    for rows in blocks:
        y = space[:, : len(scale[rows])]
        total.addmv_(torch.mm(z, network.WU[rows].T, out=y).exp_(), scale[rows])
    log_total = total.log()
    if bool((log_total.abs() < SAFE).all() & (network.b.abs() < SAFE).all()):
        return log_total
    log_total = torch.full_like(total, -math.inf)
    for rows in blocks:
        exact = torch.addmm(network.b[rows], z, network.WU[rows].T)
        log_total = torch.logaddexp(log_total, torch.logsumexp(exact, 1))
    return log_total
