"""The network of the paper, equation 1: y = b + W x + U tanh(d + H x), P(w | context) = softmax(y)_w.

Its gradient is written out, for one example with target t among the candidates and z = [x; a]:
    dL/dy = softmax(y) - [t];  dL/dWU = dL/dy z^T;  dL/dz = WU^T dL/dy
    dL/da -> dL/d(d + Hx) = dL/da (1 - a^2);  dL/dx = its W part + H^T dL/d(d + Hx);  dL/dC by words of the context.
"""

import torch
from torch import Tensor, nn

from pipeline.networks import base
from pipeline.networks.architecture import Architecture
from pipeline.networks.base import Gradient, dropout_mask
from pipeline.networks.softmax import Slope, log_partition, output_gradient


class Network(base.Network):
    """Equation 1, with W and U side by side in one matrix, so that y = b + WU [x; a] is a single product.

    C (V, m), H (h, (n-1)m), d (h), WU (V, D), b (V); D = (n-1)m with direct connections, plus h. Free parameters by the
    paper's formula: |V|(1 + nm + h) + h(1 + (n-1)m) with direct connections.
    """

    def __init__(self, architecture: Architecture, vocabulary: int):
        super().__init__()
        self.architecture = architecture
        x, h = architecture.inputs, architecture.h
        self.C = nn.Parameter(torch.zeros(vocabulary, architecture.m))
        self.H = nn.Parameter(torch.zeros(h, x))
        self.d = nn.Parameter(torch.zeros(h))
        self.WU = nn.Parameter(torch.zeros(vocabulary, (x if architecture.direct else 0) + h))
        self.b = nn.Parameter(torch.zeros(vocabulary))

    @property
    def W(self) -> Tensor:
        """Direct connections (V, (n-1)m); no columns without them."""
        return self.WU[:, : self.WU.shape[1] - self.architecture.h]

    @property
    def U(self) -> Tensor:
        """From hidden units to words (V, h)."""
        return self.WU[:, self.WU.shape[1] - self.architecture.h :]

    def hidden(self, x: Tensor) -> Tensor:
        """a = tanh(d + H x), (B, h)."""
        return torch.tanh(torch.addmm(self.d, x, self.H.T))

    def output_inputs(self, context: Tensor) -> Tensor:
        """[x; a], or a alone without direct connections: what WU is multiplied with, (B, D)."""
        x = self.features(context)
        return torch.cat([x, self.hidden(x)], 1) if self.architecture.direct else self.hidden(x)

    def forward(self, context: Tensor) -> Tensor:
        """Log-probabilities of all words (B, V) after each context (B, n-1)."""
        return torch.log_softmax(torch.addmm(self.b, self.output_inputs(context), self.WU.T), 1)

    @torch.no_grad()
    def log_probabilities(self, context: Tensor, target: Tensor) -> Tensor:
        """Exact natural-log probability (B,) of each target (B,) after its context (B, n-1)."""
        z = self.output_inputs(context)
        own = (z * self.WU[target]).sum(1) + self.b[target]
        return own - log_partition(z, self.WU, self.b)

    @torch.no_grad()
    def gradient(
        self,
        context: Tensor,
        target: Tensor,
        candidates: Tensor,
        log_inclusion: Tensor,
        dropout: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> Gradient:
        """By hand instead of by autograd: no graph, few passes over memory. dropout is that of z = [x; a]."""
        direct = self.architecture.direct
        x = self.features(context)
        a = self.hidden(x)
        z = torch.cat([x, a], 1) if direct else a
        keep = dropout_mask(z, dropout, generator)
        loss, dz, dWU, db = self.output_gradient(z * keep, target, candidates, log_inclusion)

        dz *= keep
        split = x.shape[1] if direct else 0
        dpre = dz[:, split:] * (1 - a * a)
        dx = dpre @ self.H
        if direct:
            dx += dz[:, :split]
        return Gradient(
            loss,
            {
                "C": self.feature_gradient(context, dx),
                "H": (None, dpre.T @ x),
                "d": (None, dpre.sum(0)),
                "WU": dWU,
                "b": db,
            },
        )

    def output_gradient(
        self, z: Tensor, target: Tensor, candidates: Tensor, log_inclusion: Tensor
    ) -> tuple[Tensor, Tensor, Slope, Slope]:
        """The output layer's part of gradient(): loss, and gradients on its inputs z (B, D), on WU and on b."""
        return output_gradient(z, self.WU, self.b, target, candidates, log_inclusion)
