"""The candidates in the softmax of a training step: all words, or a random sample (Bengio and Senecal 2003).

Poisson sampling: word i is a candidate with probability pi_i, independently of the others; the targets of the batch
always are (pi = 1), and so are frequent words. With y_i - log pi_i in place of y_i, the expected sum of exponentials
over the candidates is that of the full softmax, for any batch.
"""

import math
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from pipeline.core.common.errors import InputError

UNDRAWN = 50.0  # subtracted from the logit of a target that was not drawn, which then adds nothing to the sum


def inclusion_probabilities(counts: np.ndarray, samples: int, power: float) -> np.ndarray:
    """pi (V,), proportional to (count + 1)^power, at most 1, with sum `samples`."""
    if not samples > 0:
        raise InputError(f"recipe.samples={samples}: a softmax needs at least one sampled word")
    if samples >= len(counts):
        return np.ones(len(counts))
    weight = np.sort((counts + 1.0) ** power)[::-1]
    # If the k heaviest words have pi = 1, the pi of the other words sum to samples - k. The smallest k without pi > 1.
    certain = np.arange(samples)
    remaining_weight = np.cumsum(weight[::-1])[::-1][:samples]
    scale = (samples - certain) / remaining_weight
    k = int(np.argmax(scale * weight[:samples] <= 1))
    return np.minimum(1, scale[k] * (counts + 1.0) ** power)


class Sampler(Protocol):
    """Draws the candidates of each training step."""

    full: bool  # no sampling: all words take part

    def draw(self, targets: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """Candidates (K,), rising ids with every target among them, and the correction (K,) that is subtracted from
        their logits; None and None where all words take part. Draws from torch's global generator."""


class PoissonSampler:
    """Draws each word independently with probability pi. Where all pi are 1, this is the full softmax."""

    def __init__(self, inclusion: Tensor):
        self.inclusion = inclusion  # (V,)
        self.full = bool((inclusion >= 1).all())

    def draw(self, targets: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """Candidates (K,), rising ids with every target among them, and log pi of each (K,)."""
        if self.full:
            return None, None
        inclusion = self.inclusion.index_fill(0, targets, 1)
        candidates = (torch.rand_like(inclusion) < inclusion).nonzero().squeeze(1)
        return candidates, inclusion[candidates].log_()


class ImportanceSampler:
    """Importance sampling: draws with replacement from a proposal q, shared by the batch (Bengio and Senecal 2003).

    The sum of exponentials is estimated by the mean over k draws of exp(y_i) / q_i, so a word drawn c_i times has the
    weight c_i / (k q_i). A target that was not drawn adds nothing to the sum.
    """

    full = False

    def __init__(self, proposal: Tensor, samples: int):
        self.log_q = proposal.log()  # (V,)
        self.cumulative = proposal.double().cumsum(0)
        self.samples = samples

    def draw(self, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Candidates (K,), rising ids with every target among them, and log (k q_i / c_i) of each (K,)."""
        chance = torch.rand(self.samples, dtype=torch.float64, device=targets.device)
        words = torch.searchsorted(self.cumulative, chance * self.cumulative[-1]).clamp_(max=len(self.log_q) - 1)
        times = torch.bincount(words, minlength=len(self.log_q))
        candidates = times.bool().index_fill(0, targets, True).nonzero().squeeze(1)
        weight = self.log_q[candidates] + math.log(self.samples) - times[candidates].log()
        return candidates, weight.clamp_(max=UNDRAWN)


def make_sampler(kind: str, counts: np.ndarray, samples: int, power: float, device: torch.device) -> Sampler:
    """The sampler of a recipe, from the counts (V,) of training.

    kind: poisson, or importance, whose proposal is proportional to (count + 1)^power; samples=0: all words.
    """
    if kind == "importance" and 0 < samples < len(counts):
        proposal = (counts + 1.0) ** power
        return ImportanceSampler(torch.tensor(proposal / proposal.sum(), dtype=torch.float32, device=device), samples)
    inclusion = inclusion_probabilities(counts, samples or len(counts), power)
    return PoissonSampler(torch.tensor(inclusion, dtype=torch.float32, device=device))
