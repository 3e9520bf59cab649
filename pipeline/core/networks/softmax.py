"""The exact softmax over the vocabulary, in blocks of words that fit in the processor's cache."""

import torch
from torch import Tensor, nn


def log_probabilities(z: Tensor, weight: Tensor, bias: Tensor, target: Tensor) -> Tensor:
    """Natural-log probability (B,) of each target (B,), where the scores of the words are bias + weight z."""
    target_scores = (z * weight[target]).sum(1) + bias[target]
    return target_scores - log_partition(z, weight, bias)


@torch.no_grad()
def log_partition(z: Tensor, weight: Tensor, bias: Tensor, block: int = 512) -> Tensor:
    """log sum_i exp(bias_i + weight_i z), (B,), from z (B, D), weight (V, D), bias (V,).

    block: words of the vocabulary at a time.
    """
    log_sums = []
    for weight_block, bias_block in zip(weight.split(block), bias.split(block), strict=True):
        y = nn.functional.linear(z, weight_block, bias_block)
        log_sums.append(y[:, 0] - torch.log_softmax(y, 1)[:, 0])  # two passes fewer than torch.logsumexp makes
    return torch.logsumexp(torch.stack(log_sums), 0)
