"""A sampled softmax under torch.compile, in shapes that stay the same from step to step: the target's score beside
those of words drawn for the whole batch. Fused AdamW. The seconds hold the compilation, for which a C++ compiler is
needed."""

import torch
from torch import Tensor, nn

from benchmarks.contestants import Task, full, sampled


class Network(sampled.Network):
    """The sampled network with a loss of fixed shapes."""

    def __init__(self, task: Task):
        super().__init__(task)
        self.draws = 2 * task.recipe.samples  # the other words' targets are not among them

    def loss(self, context: Tensor, target: Tensor) -> Tensor:
        """Mean over the batch, in nats, over each target and the words drawn."""
        drawn = torch.multinomial(self.proposal, self.draws, replacement=True)
        return self.loss_of(context, target, drawn)

    def loss_of(self, context: Tensor, target: Tensor, drawn: Tensor) -> Tensor:
        """With these words drawn."""
        z, weight, bias = self.features(context), self.output.weight, self.output.bias
        own = (z * weight[target]).sum(1) + bias[target]
        others = nn.functional.linear(z, weight[drawn], bias[drawn] - (self.draws * self.proposal[drawn]).log())
        others = others.masked_fill(drawn == target[:, None], -torch.inf)  # it has its own place
        return nn.functional.cross_entropy(torch.cat([own[:, None], others], 1), torch.zeros_like(target))


def train(task: Task) -> tuple[Network, float]:
    """The network, and the seconds that its training took."""
    network = Network(task)
    network.loss_of = torch.compile(network.loss_of, dynamic=False)
    return network, full.loop(network, full.optimisers(network, task), network.loss, task)
