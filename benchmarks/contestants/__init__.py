"""Those who take part in the race: equation 1 and its training as good users of stock PyTorch write them, and ours.

A file each, with a `train`. Offered to all are the same rates, dropout, weight decay and epochs (benchmarks/race.py).
All else is our recipe's in each: the schedule, Adam's other values, batches of 512 words, 256 sampled words, features
of the same spread at the start, output biases at the log unigram. So the race is of code, not of values that only we
know.
"""

from dataclasses import dataclass, field
from typing import Protocol

from torch import Tensor

from benchmarks import setting
from pipeline.config.network import Architecture
from pipeline.config.recipe import Recipe


@dataclass(frozen=True)
class Task:
    """What is to be trained."""

    shape: Architecture
    recipe: Recipe  # with the rate, dropout, weight decay and epochs that are tried
    corpus: setting.Ids
    counts: Tensor  # (V,) float: of training
    context: Tensor  # (T, n-1) ids: all of training, or a random part
    target: Tensor  # (T,) ids
    steps: list[float] = field(default_factory=list)  # when each step ended, which `train` writes


class Trained(Protocol):
    """What training gives."""

    def log_probabilities(self, context: Tensor, target: Tensor) -> Tensor:
        """Exact natural-log probability (B,) of each target (B,) after its context (B, n-1)."""
