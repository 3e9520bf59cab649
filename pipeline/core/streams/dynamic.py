"""Dynamic evaluation (Mikolov and others 2010; here as Krause and others, Dynamic evaluation of neural sequence models,
2018): a network learns from the test text, and scores each stretch of it before it learns from the stretch.

After a stretch with gradient g each weight is updated by
    theta <- theta + decay (theta_0 - theta) r / mean of r - rate g / (r + epsilon),
where r is the root of the mean squared gradient on training words, and theta_0 the weight after training. The mean of r
is taken over the means of all parameters, and epsilon is given in multiples of it. So steps have similar sizes for all
weights, and weights with large gradients return faster to theta_0.
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
    """log P (T,) float32 of each token of a split. A copy of the network learns; the network itself does not change.

    ids: (T,) a split; before: the words that precede it in the stream, read but not learned from; mark: id of the text
    mark; roots: of each parameter, from mean_squares; rate, decay, epsilon: see above; length: words of a stretch;
    progress: called with the number of words of each stretch.
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
    """r of each parameter: the root of its mean squared gradient over the stretches of the training words `ids`."""
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
    """Updates each weight. weights: (theta, theta_0, decay r / mean of r or None, r + epsilon) of each parameter."""
    for theta, trained, decay, root in weights:
        if decay is not None:
            theta.lerp_(trained, decay)
        theta.addcdiv_(theta.grad, root, value=-rate)
        theta.grad = None
