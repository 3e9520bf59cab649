"""What training and scoring ask of a family of networks."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from pipeline.networks.architecture import Architecture
from pipeline.networks.softmax import Slope


@dataclass
class Gradient:
    """The gradient of a batch's mean loss, only for what the batch touched."""

    loss: Tensor  # (), mean negative log-likelihood, natural log
    slopes: dict[str, Slope]  # by the parameter's name


class Network(nn.Module, ABC):
    """A network: features C (V, m) of words, output biases b (V,), and whatever turns contexts into probabilities."""

    architecture: Architecture
    C: nn.Parameter
    b: nn.Parameter

    @abstractmethod
    def gradient(
        self,
        context: Tensor,
        target: Tensor,
        candidates: Tensor,
        log_inclusion: Tensor,
        dropout: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> Gradient:
        """One batch: context (B, n-1) and target (B,) ids; candidates (K,), rising, every target among them, whose
        exponentials enter the sum divided by exp of log_inclusion (K,). All words as candidates: the full softmax.

        dropout: the share of the output layer's inputs that is zeroed, the rest scaled up.
        """

    @abstractmethod
    def log_probabilities(self, context: Tensor, target: Tensor) -> Tensor:
        """Exact natural-log probability (B,) of each target (B,) after its context (B, n-1)."""

    @torch.no_grad()
    def initialise(self, features: float, weights: float, bias: Tensor, generator: torch.Generator) -> "Network":
        """Random features and weights, given output biases; the other biases stay zero.

        features: standard deviation of C; weights: of every other matrix, times the root of its fan-in;
        bias: (V,), such as the log unigram, from which training then need not start by learning frequencies.
        """
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1 and parameter.numel():
                spread = features if name == "C" else weights / parameter.shape[1] ** 0.5
                parameter.normal_(0, spread, generator=generator)
        self.b.copy_(bias)
        return self

    def features(self, context: Tensor) -> Tensor:
        """x: the features of the context words in order, (B, (n-1)m), from ids (B, n-1)."""
        return self.C[context].flatten(1)

    def feature_gradient(self, words: Tensor, slope: Tensor) -> tuple[Tensor, Tensor]:
        """Rows of C that were touched, (R,), and their gradient (R, m), from that of each place where a word stood.

        words: ids, any shape; slope: gradients of their features, as many rows of m.
        """
        rows, place = torch.unique(words, return_inverse=True)
        summed = slope.new_zeros(len(rows), self.architecture.m)
        return rows, summed.index_add_(0, place.flatten(), slope.reshape(-1, self.architecture.m))


def dropout_mask(like: Tensor, dropout: float, generator: torch.Generator | None) -> Tensor:
    """Zero with this probability, 1 / (1 - dropout) otherwise, in the shape of a tensor."""
    if not dropout:
        return torch.ones_like(like)
    keep = torch.rand(like.shape, dtype=like.dtype, device=like.device, generator=generator)
    return keep.ge_(dropout).div_(1 - dropout)
