"""g by a recurrent network (paper, section 5: its own suggestion): y = b + U a, a the last state of a gated recurrent
unit (Cho and others 2014) that reads the features of the n-1 words before, from a state of zero.

The recurrent part is torch's, differentiated by autograd; the softmax over the vocabulary, where the time goes, is the
same as the feed-forward network's.
"""

import torch
from torch import Tensor, nn

from pipeline.networks import base
from pipeline.networks.architecture import Architecture
from pipeline.networks.base import Gradient, dropout_mask
from pipeline.networks.softmax import log_partition, output_gradient


class Network(base.Network):
    """C (V, m), the unit's matrices and biases, U (V, h), b (V)."""

    def __init__(self, architecture: Architecture, vocabulary: int):
        super().__init__()
        self.architecture = architecture
        self.C = nn.Parameter(torch.zeros(vocabulary, architecture.m))
        self.unit = nn.GRU(architecture.m, architecture.h, batch_first=True)
        for bias in (self.unit.bias_ih_l0, self.unit.bias_hh_l0):
            nn.init.zeros_(bias)
        self.U = nn.Parameter(torch.zeros(vocabulary, architecture.h))
        self.b = nn.Parameter(torch.zeros(vocabulary))

    def hidden(self, features: Tensor) -> Tensor:
        """a (B, h) from the features of the context words in order (B, n-1, m)."""
        states, _ = self.unit(features)
        return states[:, -1]

    def forward(self, context: Tensor) -> Tensor:
        """Log-probabilities of all words (B, V) after each context (B, n-1)."""
        return torch.log_softmax(torch.addmm(self.b, self.hidden(self.C[context]), self.U.T), 1)

    @torch.no_grad()
    def log_probabilities(self, context: Tensor, target: Tensor) -> Tensor:
        """Exact natural-log probability (B,) of each target (B,) after its context (B, n-1)."""
        a = self.hidden(self.C[context])
        own = (a * self.U[target]).sum(1) + self.b[target]
        return own - log_partition(a, self.U, self.b)

    @torch.enable_grad()
    def gradient(
        self,
        context: Tensor,
        target: Tensor,
        candidates: Tensor,
        log_inclusion: Tensor,
        dropout: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> Gradient:
        """The softmax's gradient by hand, the recurrent part's by autograd. dropout is that of a."""
        words, place = torch.unique(context, return_inverse=True)
        features = self.C.detach()[words].requires_grad_()
        a = self.hidden(features[place])
        keep = dropout_mask(a.detach(), dropout, generator)
        loss, dz, dU, db = output_gradient(a.detach() * keep, self.U, self.b, target, candidates, log_inclusion)
        names = [f"unit.{name}" for name, _ in self.unit.named_parameters()]
        dfeatures, *slopes = torch.autograd.grad(a, [features, *self.unit.parameters()], dz * keep)
        recurrent = {name: (None, slope) for name, slope in zip(names, slopes, strict=True)}
        return Gradient(loss, {"C": (words, dfeatures), "U": dU, "b": db} | recurrent)
