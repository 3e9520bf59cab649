"""What a good user of stock PyTorch writes after reading our code: Poisson sampling, bfloat16 for the one large
product, torch's fused Adam on a copy of the rows that a batch touches. Dropout is torch's, and products have as many
columns as there are candidates, where ours fill up to a multiple of 64."""

import torch
from torch import Tensor, nn

from benchmarks.contestants import Task, full, sparse
from pipeline.core.training.optimiser import Adam
from pipeline.core.training.sampling import inclusion_probabilities


class Network(sparse.Network):
    """The sparse network with other candidates and another product."""

    def __init__(self, task: Task):
        super().__init__(task)
        chance = inclusion_probabilities(task.counts.numpy(), task.recipe.samples, task.recipe.power)
        self.register_buffer("chance", torch.from_numpy(chance).float())

    def loss(self, context: Tensor, target: Tensor) -> Tensor:
        """Mean over the batch, in nats, over the words that take part."""
        chance = self.chance.index_fill(0, target, 1)  # a target is always there
        words = (torch.rand_like(chance) < chance).nonzero().squeeze(1)
        scores = self.scores(self.features(context), words) - chance[words].log()
        return nn.functional.cross_entropy(scores, torch.searchsorted(words, target))

    def scores(self, features: Tensor, words: Tensor) -> Tensor:
        """Of some words, (B, K)."""
        product = features.bfloat16() @ self.weight(words).bfloat16().T
        return product.float() + self.bias(words)[:, 0]


class RowAdam(torch.optim.Optimizer):
    """Our Adam, which updates the rows of a sparse gradient alone, with the rate that a scheduler of torch sets."""

    def __init__(self, tables: list[nn.Parameter], lr: float, betas: tuple[float, float], eps: float):
        super().__init__(tables, {"lr": lr})
        self.adam = Adam(tables, *betas, epsilon=eps)

    def step(self) -> None:
        """One step on the rows of each table's gradient."""
        self.adam.step(self.param_groups[0]["lr"], words=1)


def train(task: Task) -> tuple[Network, float]:
    """The network, and the seconds that its training took."""
    network = Network(task)
    _, hidden, decay = sparse.optimisers(network, task)
    by_row = RowAdam([network.embedding.weight, network.weight.weight, network.bias.weight], **full.adam(task))
    return network, full.loop(network, [by_row, hidden, decay], network.loss, task)
