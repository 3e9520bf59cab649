"""The exact softmax over the vocabulary, in blocks of words that fit in the processor's cache."""

import torch
from torch import Tensor, nn

FREQUENT = 4096  # words whose products stay in float32 where others are rounded


def log_probabilities(
    z: Tensor, weight: Tensor, bias: Tensor, target: Tensor, rounded: bool = False, row_of: Tensor | None = None
) -> Tensor:
    """Natural-log probability (T,) of each target (T,), where the scores of the words are bias + weight z.

    row_of: (T,) the row of z (B, D) of each target; None: each row has one target, in this order.
    """
    log_sums = log_partition(z, weight, bias, rounded)
    if row_of is not None:
        z, log_sums = z[row_of], log_sums[row_of]
    return (z * weight[target]).sum(1) + bias[target] - log_sums


@torch.no_grad()
def log_partition(z: Tensor, weight: Tensor, bias: Tensor, rounded: bool = False, block: int = 512) -> Tensor:
    """log sum_i exp(bias_i + weight_i z), (B,), from z (B, D), weight (V, D), bias (V,).

    rounded: whether z and the weights of all but the FREQUENT first words are rounded to bfloat16. Ids fall in
    frequency, so the rounded words have a small part of the sum: it takes two thirds of the time, and perplexities
    change by less than 1e-5 for the networks of Table 1 (`python -m benchmarks rounding`), by 2.1e-5 at most for those
    of the published settings. With frequent words rounded too, MLP1's changes by 2e-4, since all tokens share the
    errors of these weights. block: words of the vocabulary at a time.
    """
    rounded_z = z.bfloat16() if rounded else z
    log_sums = []
    for number, (weight_block, bias_block) in enumerate(zip(weight.split(block), bias.split(block), strict=True)):
        if rounded and number * block >= FREQUENT:
            y = nn.functional.linear(rounded_z, weight_block.bfloat16()).float().add_(bias_block)
        else:
            y = nn.functional.linear(z, weight_block, bias_block)
        log_sums.append(y[:, 0] - torch.log_softmax(y, 1)[:, 0])  # two passes fewer than torch.logsumexp makes
    return torch.logsumexp(torch.stack(log_sums), 0)
