"""Which words take part in the softmax of a training step: all of them, or a random few (Bengio and Senecal 2003).

Poisson sampling: word i is a candidate with probability pi_i, independently of the others; the targets of the batch
are certain (pi = 1). With y_i - log pi_i in place of y_i the sum of exponentials over the candidates has the
full softmax's sum as its mean, whatever the batch. Frequent words get pi = 1 too and are never left to chance.
"""

import numpy as np
import torch
from torch import Tensor

from pipeline.core.errors import InputError


def inclusion_probabilities(counts: np.ndarray, samples: int, power: float) -> np.ndarray:
    """pi (V,) proportional to (count + 1)^power, cut off at 1, and summing to `samples`."""
    if not samples > 0:
        raise InputError(f"recipe.samples={samples}: a softmax needs at least one sampled word")
    if samples >= len(counts):
        return np.ones(len(counts))
    weight = np.sort((counts + 1.0) ** power)[::-1]
    # With the k heaviest words certain, the rest share samples - k: the smallest k that leaves none above 1.
    certain = np.arange(samples)
    rest = np.cumsum(weight[::-1])[::-1][:samples]
    scale = (samples - certain) / rest
    k = int(np.argmax(scale * weight[:samples] <= 1))
    return np.minimum(1, scale[k] * (counts + 1.0) ** power)


class Sampler:
    """Draws the candidates of each training step."""

    def __init__(self, inclusion: Tensor):
        self.inclusion = inclusion  # (V,)
        self.full = bool((inclusion >= 1).all())

    def draw(self, targets: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Candidates (K,), rising ids with every target among them, and log pi of each (K,)."""
        if self.full:
            words = len(self.inclusion)
            return torch.arange(words, device=targets.device), torch.zeros_like(self.inclusion)
        inclusion = self.inclusion.index_fill(0, targets, 1)
        chance = torch.rand(len(inclusion), generator=generator, device=inclusion.device)
        candidates = (chance < inclusion).nonzero().squeeze(1)
        return candidates, inclusion[candidates].log_()
