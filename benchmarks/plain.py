"""The network as one writes it first in PyTorch: Embedding and Linear layers, cross_entropy, Adam, full softmax.

Adam in its fused form, which here takes a quarter of the default's time.
"""

import time
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from pipeline.networks.base import Architecture
from pipeline.networks.feedforward import Network

BATCH = 256


class Plain(nn.Module):
    """Equation 1 in layers; the output biases start at the log unigram, as ours do."""

    def __init__(self, architecture: Architecture, vocabulary: int, bias: Tensor):
        super().__init__()
        self.architecture = architecture
        self.embedding = nn.Embedding(vocabulary, architecture.m)
        self.hidden = nn.Linear(architecture.inputs, architecture.h)
        self.output = nn.Linear(architecture.h, vocabulary)
        self.direct = nn.Linear(architecture.inputs, vocabulary, bias=False) if architecture.direct else None
        nn.init.normal_(self.embedding.weight, std=0.03)
        with torch.no_grad():
            self.output.bias.copy_(bias)

    def forward(self, context: Tensor) -> Tensor:
        """Logits (B, V) after contexts (B, n-1)."""
        x = self.embedding(context).flatten(1)
        y = self.output(torch.tanh(self.hidden(x)))
        return y + self.direct(x) if self.direct else y

    @torch.no_grad()
    def as_network(self) -> Network:
        """The same function as our Network, so that both are scored by the same code."""
        network = Network(self.architecture, self.embedding.num_embeddings)
        network.C.copy_(self.embedding.weight)
        network.H.copy_(self.hidden.weight)
        network.d.copy_(self.hidden.bias)
        rows = [self.direct.weight, self.output.weight] if self.direct else [self.output.weight]
        network.WU.copy_(torch.cat(rows, 1))
        network.b.copy_(self.output.bias)
        return network


def train(
    network: Plain, context: Tensor, target: Tensor, rate: float, looks: int, seed: int = 0
) -> Iterator[tuple[float, int]]:
    """Trains without end; `looks` times an epoch yields the seconds spent in updates and the words seen."""
    optimiser = torch.optim.Adam(network.parameters(), lr=rate, fused=True)
    generator = torch.Generator().manual_seed(seed)
    seconds, words = 0.0, 0
    while True:
        start = time.perf_counter()
        batches = torch.randperm(len(target), generator=generator).split(BATCH)
        marks = {len(batches) * look // looks for look in range(1, looks + 1)}
        for done, batch in enumerate(batches, 1):
            optimiser.zero_grad()
            nn.functional.cross_entropy(network(context[batch]), target[batch]).backward()
            optimiser.step()
            words += len(batch)
            if done in marks:
                seconds += time.perf_counter() - start
                yield seconds, words
                start = time.perf_counter()
