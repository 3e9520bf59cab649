"""The network of the paper, equation 1: y = b + W x + U tanh(d + H x), P(w | context) = softmax(y)_w."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from pipeline.core.errors import InputError


@dataclass
class Architecture:
    """n: order, so n-1 words of context; h: hidden units; m: features a word; direct: whether W is there."""

    n: int
    h: int
    m: int
    direct: bool

    def __post_init__(self):
        if self.n < 2:
            raise InputError(f"model.n={self.n}: the network needs at least one word of context, so n >= 2")
        if self.h < 0:
            raise InputError(f"model.h={self.h}: hidden units can't be negative; h=0 leaves the linear part alone")
        if self.m < 1:
            raise InputError(f"model.m={self.m}: a word needs at least one feature")
        if self.h == 0 and not self.direct:
            raise InputError(
                "model.h=0 with model.direct=false: no way from context to output; set h > 0 or direct=true"
            )

    @property
    def inputs(self) -> int:
        """Length of x, the features of the whole context."""
        return (self.n - 1) * self.m

    def parameters(self, vocabulary: int) -> int:
        """Free parameters by the paper's formula: |V|(1 + nm + h) + h(1 + (n-1)m) with direct connections."""
        direct = self.inputs if self.direct else 0
        return vocabulary * (1 + self.m + direct + self.h) + self.h * (1 + self.inputs)


class Network(nn.Module):
    """Equation 1, with W and U side by side in one matrix, so that y = b + WU [x; a] is a single product.

    C (V, m), H (h, (n-1)m), d (h), WU (V, D), b (V); D = (n-1)m with direct connections, plus h.
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

    @torch.no_grad()
    def initialise(self, features: float, weights: float, bias: Tensor, generator: torch.Generator) -> "Network":
        """Random features and weights, given biases.

        features: standard deviation of C; weights: of H and WU times the root of their fan-in;
        bias: (V,), such as the log unigram, from which training then need not start by learning frequencies.
        """
        self.C.normal_(0, features, generator=generator)
        for matrix in (self.H, self.WU):
            if matrix.numel():
                matrix.normal_(0, weights / matrix.shape[1] ** 0.5, generator=generator)
        self.b.copy_(bias)
        return self

    def features(self, context: Tensor) -> Tensor:
        """x: the features of the context words in order, (B, (n-1)m), from ids (B, n-1)."""
        return self.C[context].flatten(1)

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
