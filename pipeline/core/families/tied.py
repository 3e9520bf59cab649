"""The paper's network with tied word features, which are also the output layer's weights (Inan and others, Press and
Wolf 2017): y = b + C (T tanh(d + H x) + D x), with x as in equation 1. So U is C T, and W is C D, both of rank m."""

import torch
from torch import Tensor, nn

from pipeline.core.common.settings import ModelSettings
from pipeline.core.networks import base
from pipeline.core.networks.softmax import log_probabilities


class TiedNetwork(base.Network):
    """C (V, m), H (h, (n-1)m), d (h), T (m, h), D (m, (n-1)m) with direct connections, b (V)."""

    tables = ("C", "b")
    options = ("direct", "activation")

    def __init__(self, architecture: ModelSettings, vocabulary: int):
        super().__init__(architecture)
        m, h = architecture.m, architecture.h
        self.C = nn.Parameter(torch.zeros(vocabulary, m))
        self.H = nn.Parameter(torch.zeros(h, self.inputs))
        self.d = nn.Parameter(torch.zeros(h))
        self.T = nn.Parameter(torch.zeros(m, h))
        if architecture.direct:
            self.D = nn.Parameter(torch.zeros(m, self.inputs))
        self.b = nn.Parameter(torch.zeros(vocabulary))

    def output_inputs(self, context: Tensor) -> Tensor:
        """T tanh(d + H x) + D x, or another activation in place of tanh, (B, m); dropout as in feedforward.py."""
        x = self.features(context).flatten(1)
        a = base.ACTIVATIONS[self.architecture.activation](nn.functional.linear(x, self.H, self.d))
        z = nn.functional.linear(self.dropout(a), self.T)
        return z + nn.functional.linear(self.dropout(x), self.D) if self.architecture.direct else z

    def forward(self, context: Tensor, words: Tensor | None = None) -> Tensor:
        """y (B, K) of `words` (K,), or of all, after contexts (B, n-1)."""
        return self.output(self.output_inputs(context), self.C, words)

    @torch.no_grad()
    def log_probabilities(self, context: Tensor, target: Tensor, row_of: Tensor | None = None) -> Tensor:
        """See base.Network."""
        return log_probabilities(
            self.output_inputs(context), self.rows(self.C, None), self.b, target, self.rounded, row_of
        )
