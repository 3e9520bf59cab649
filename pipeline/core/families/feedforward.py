"""The network of the paper, equation 1: y = b + W x + U tanh(d + H x), P(w | context) = softmax(y)_w.

x is C(w_{t-n+1}), ..., C(w_{t-1}), with the nearest word last (in the paper it is first).
"""

import torch
from torch import Tensor, nn

from pipeline.core.common.settings import ModelSettings
from pipeline.core.networks import base
from pipeline.core.networks.softmax import log_probabilities


class FeedforwardNetwork(base.Network):
    """Equation 1, with W and U side by side in one matrix, so that y = b + WU [x; a] is a single product.

    C (V, m), H (h, (n-1)m), d (h), WU (V, D), b (V); D = h, plus (n-1)m with direct connections. Free parameters with
    direct connections, by the paper's formula: |V|(1 + nm + h) + h(1 + (n-1)m).
    """

    tables = ("C", "WU", "b")
    options = ("direct", "activation")

    def __init__(self, architecture: ModelSettings, vocabulary: int):
        super().__init__(architecture)
        x, h = self.inputs, architecture.h
        self.C = nn.Parameter(torch.zeros(vocabulary, architecture.m))
        self.H = nn.Parameter(torch.zeros(h, x))
        self.d = nn.Parameter(torch.zeros(h))
        self.WU = nn.Parameter(torch.zeros(vocabulary, (x if architecture.direct else 0) + h))
        self.b = nn.Parameter(torch.zeros(vocabulary))

    @property
    def W(self) -> Tensor:
        """Direct connections (V, (n-1)m); (V, 0) without them."""
        return self.WU[:, : self.WU.shape[1] - self.architecture.h]

    @property
    def U(self) -> Tensor:
        """Weights from hidden units to words (V, h)."""
        return self.WU[:, self.WU.shape[1] - self.architecture.h :]

    def output_inputs(self, context: Tensor) -> Tensor:
        """The inputs (B, D) of the output layer: [x; a] with a = tanh(d + H x), or a alone without direct connections.
        The architecture may name another activation than tanh."""
        x = self.features(context).flatten(1)
        a = base.ACTIVATIONS[self.architecture.activation](nn.functional.linear(x, self.H, self.d))
        return self.dropout(torch.cat([x, a], 1) if self.architecture.direct else a)

    def forward(self, context: Tensor, words: Tensor | None = None) -> Tensor:
        """y = b + WU [x; a], (B, K), of `words` (K,), or of all, after contexts (B, n-1)."""
        return self.output(self.output_inputs(context), self.WU, words)

    @torch.no_grad()
    def log_probabilities(self, context: Tensor, target: Tensor, row_of: Tensor | None = None) -> Tensor:
        """See base.Network."""
        return log_probabilities(self.output_inputs(context), self.WU, self.b, target, self.rounded, row_of)
