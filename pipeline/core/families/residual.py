"""The paper's network with later ideas: many words of context, residual layers with normalisation, tied word features
(Sun and Iyyer, Revisiting simple neural probabilistic language models, 2021; without their averages of the words beyond
the window, and optionally with the paper's direct connections).

a_0 = d + H x; a_k = a_{k-1} + V_k relu(U_k norm(a_{k-1})); y = b + C (T norm(a_last) + D x), where x is equation 1's,
and C D its direct connections, of rank m.
"""

import torch
from torch import Tensor, nn

from pipeline.core.common.settings import ModelSettings
from pipeline.core.networks import base
from pipeline.core.networks.softmax import log_probabilities


class ResidualNetwork(base.Network):
    """C (V, m), H (h, (n-1)m), d (h), layers of h, T (m, h), D (m, (n-1)m) with direct connections, b (V)."""

    tables = ("C", "b")
    options = ("direct",)
    deep_keys = ("layers", "input_dropout", "layer_dropout")

    def __init__(self, architecture: ModelSettings, vocabulary: int):
        super().__init__(architecture)
        m, h = architecture.m, architecture.h
        self.C = nn.Parameter(torch.zeros(vocabulary, m))
        self.H = nn.Parameter(torch.zeros(h, self.inputs))
        self.d = nn.Parameter(torch.zeros(h))
        norms = [nn.LayerNorm(h) for _ in range(architecture.deep.layers + 1)]
        self.norms = nn.ModuleList(norms)
        self.U = nn.ParameterList(torch.zeros(2 * h, h) for _ in range(architecture.deep.layers))
        self.V = nn.ParameterList(torch.zeros(h, 2 * h) for _ in range(architecture.deep.layers))
        self.T = nn.Parameter(torch.zeros(m, h))
        if architecture.direct:
            self.D = nn.Parameter(torch.zeros(m, self.inputs))
        self.b = nn.Parameter(torch.zeros(vocabulary))

    def output_inputs(self, context: Tensor) -> Tensor:
        """T norm(a) + D x, (B, m)."""
        deep, training = self.architecture.deep, self.training
        with torch.autocast(self.b.device.type, torch.bfloat16, enabled=self.bfloat16 and training):
            x = nn.functional.dropout(self.features(context).flatten(1), deep.input_dropout, training)
            a = nn.functional.linear(x, self.H, self.d).to(self.b.dtype)  # the residual sum is not rounded
            for norm, U, V in zip(self.norms, self.U, self.V, strict=False):
                inner = torch.relu(nn.functional.linear(norm(a), U))
                a = a + nn.functional.linear(nn.functional.dropout(inner, deep.layer_dropout, training), V)
            z = nn.functional.linear(self.norms[-1](a), self.T)
            z = z + nn.functional.linear(x, self.D) if self.architecture.direct else z
        return self.dropout(z.to(self.b.dtype))

    def forward(self, context: Tensor, words: Tensor | None = None) -> Tensor:
        """y (B, K) of `words` (K,), or of all, after contexts (B, n-1)."""
        return self.output(self.output_inputs(context), self.C, words)

    @torch.no_grad()
    def log_probabilities(self, context: Tensor, target: Tensor, row_of: Tensor | None = None) -> Tensor:
        """See base.Network."""
        return log_probabilities(
            self.output_inputs(context), self.rows(self.C, None), self.b, target, self.rounded, row_of
        )
