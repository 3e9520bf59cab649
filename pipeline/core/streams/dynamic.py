"""Dynamic evaluation (Mikolov and others 2010; here as Krause and others, Dynamic evaluation of neural sequence models,
2018): a network goes on learning from the text that it reads, and scores each stretch of it before it learns from it.

After a stretch with gradient g each weight makes the step
    theta <- theta + decay (theta_0 - theta) r / mean of r - rate g / (r + epsilon),
where r is the root of the mean squared gradient on training words, theta_0 what training has left, and the mean that of
all matrices' means. So each weight makes steps of one size, and those with large gradients go back faster. Epsilon is
given in means of r.
"""

import copy
from collections.abc import Callable, Iterator

import numpy as np
import torch

from pipeline.core.networks.base import Network


def log_probabilities(
    network: Network,
    ids: np.ndarray,
    before: np.ndarray,
    mark: int,
    roots: list[torch.Tensor],
    rate: float,
    decay: float,
    epsilon: float,
    length: int,
    progress: Callable[[int], object] = lambda words: None,
) -> np.ndarray:
    """log P (T,) float32 of each token of a split. The network itself stays as it is: a copy learns.

    ids: (T,) a split; before: what precedes it in the stream, read and not learned from; mark: id of the text mark;
    roots: of each parameter, from mean_squares; length: words of a stretch; progress: called with the words done.
    """
    learning = copy.deepcopy(network).eval()
    learning.sparse = False
    mean = torch.stack([root.mean() for root in roots]).mean()
    weights = [
        (p, p.detach().clone(), (decay * root / mean).clamp(max=1) if decay else None, root + epsilon * mean)
        for p, root in zip(learning.parameters(), roots, strict=True)
    ]
    scored = []
    for loss in _losses(learning, ids, before, mark, length):
        scored.append(-loss.detach().numpy())
        loss.sum().backward()
        _learn(weights, rate)
        progress(len(loss))
    return np.concatenate(scored)


def mean_squares(network: Network, ids: np.ndarray, mark: int, length: int) -> list[torch.Tensor]:
    """r of each parameter: the root of its mean squared gradient over the stretches of some training words."""
    network.eval().sparse = False
    sums, stretches = [torch.zeros_like(p) for p in network.parameters()], 0
    for loss in _losses(network, ids, ids[:0], mark, length):
        loss.sum().backward()
        for total, parameter in zip(sums, network.parameters(), strict=True):
            total.addcmul_(parameter.grad, parameter.grad)
            parameter.grad = None
        stretches += 1
    return [(total / stretches).sqrt_() for total in sums]


def _losses(network: Network, ids: np.ndarray, before: np.ndarray, mark: int, length: int) -> Iterator[torch.Tensor]:
    """-log P (L,) of the words of each stretch, with a gradient."""
    targets = torch.from_numpy(ids.astype(np.int64)).split(length)
    for y, target in zip(network.stretches(ids, before, mark, length), targets, strict=True):
        yield torch.nn.functional.cross_entropy(y, target, reduction="none")


@torch.no_grad()
def _learn(weights: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor | None, torch.Tensor]], rate: float) -> None:
    """A step of each weight (theta, theta_0, how much of the way back it goes or None, r + epsilon)."""
    for theta, trained, back, root in weights:
        if back is not None:
            theta.lerp_(trained, back)
        theta.addcdiv_(theta.grad, root, value=-rate)
        theta.grad = None
