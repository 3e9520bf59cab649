"""What training and scoring ask of a family of networks."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from pipeline.networks.architecture import Architecture


class Network(nn.Module, ABC):
    """A network: features C (V, m) of words, output biases b (V,), and a `forward` that scores words after contexts.

    tables: names of the parameters of which a batch needs some words' rows alone; with `sparse` their gradients hold
    those rows and no others. dropout: of what enters the output layer, in training mode.
    """

    tables: tuple[str, ...]
    C: nn.Parameter
    b: nn.Parameter

    def __init__(self, architecture: Architecture):
        super().__init__()
        self.architecture = architecture
        self.dropout = nn.Dropout(0.0)
        self.sparse = False

    @abstractmethod
    def forward(self, context: Tensor, words: Tensor | None = None) -> Tensor:
        """Scores y (B, K) of some words (K,), or of all, after contexts (B, n-1); the softmax of all is P."""

    @abstractmethod
    def log_probabilities(self, context: Tensor, target: Tensor) -> Tensor:
        """Exact natural-log probability (B,) of each target (B,) after its context (B, n-1)."""

    def distribution(self, context: Tensor) -> Tensor:
        """Natural-log probabilities (B, V) of all words after each context (B, n-1)."""
        return torch.log_softmax(self(context), 1)

    def loss(
        self, context: Tensor, target: Tensor, words: Tensor | None = None, log_inclusion: Tensor | None = None
    ) -> Tensor:
        """Mean over the batch of log sum exp(y - log_inclusion) - y of the target, in nats.

        words: candidates (K,), rising, every target (B,) among them, with log_inclusion (K,); None: the full softmax.
        """
        y = self(context, words)
        if words is None:
            return self.cross_entropy(y, target)
        column = torch.searchsorted(words, target)
        return self.cross_entropy(y.sub_(log_inclusion), column) - log_inclusion[column].mean()

    def cross_entropy(self, y: Tensor, column: Tensor) -> Tensor:
        """The mean loss () of scores y (B, K) where the targets have these columns (B,)."""
        return nn.functional.cross_entropy(y, column)

    def backward(self, *batch: Tensor | None) -> Tensor:
        """The loss () of a batch, as `loss` takes it; its gradient is added to the parameters'."""
        loss = self.loss(*batch)
        loss.backward()
        return loss.detach()

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
        """Features of the context words in order, (B, n-1, m), from ids (B, n-1)."""
        return nn.functional.embedding(context, self.C, sparse=self.sparse)

    def rows(self, table: Tensor, words: Tensor | None) -> Tensor:
        """What a table has for some words (K,), or for all words of the vocabulary."""
        if words is None:
            return table[: len(self.b)]  # C may hold more, of words that stand in contexts alone
        if table.dim() == 1:
            return table.gather(0, words, sparse_grad=self.sparse)
        return nn.functional.embedding(words, table, sparse=self.sparse)
