"""A recurrent network in place of g (suggested in the paper, section 5): y = b + U a, where a is the last state of a
gated recurrent unit (Cho and others 2014). It reads the features of the n-1 words before, starting from state zero."""

import torch
from torch import Tensor, nn

from pipeline.core.common.settings import ModelSettings
from pipeline.core.networks import base
from pipeline.core.networks.softmax import log_probabilities


class RecurrentNetwork(base.Network):
    """C (V, m), the weights and biases of the recurrent unit, U (V, h), b (V)."""

    tables = ("C", "U", "b")

    def __init__(self, architecture: ModelSettings, vocabulary: int):
        super().__init__(architecture)
        self.C = nn.Parameter(torch.zeros(vocabulary, architecture.m))
        self.unit = nn.GRU(architecture.m, architecture.h, batch_first=True)
        for bias in (self.unit.bias_ih_l0, self.unit.bias_hh_l0):
            nn.init.zeros_(bias)
        self.U = nn.Parameter(torch.zeros(vocabulary, architecture.h))
        self.b = nn.Parameter(torch.zeros(vocabulary))

    def output_inputs(self, context: Tensor) -> Tensor:
        """a (B, h)."""
        states, _ = self.unit(self.features(context))
        return self.dropout(states[:, -1])

    def forward(self, context: Tensor, words: Tensor | None = None) -> Tensor:
        """y = b + U a, (B, K), of `words` (K,), or of all, after contexts (B, n-1)."""
        return self.output(self.output_inputs(context), self.U, words)

    @torch.no_grad()
    def log_probabilities(self, context: Tensor, target: Tensor, row_of: Tensor | None = None) -> Tensor:
        """See base.Network."""
        return log_probabilities(self.output_inputs(context), self.U, self.b, target, self.rounded, row_of)
