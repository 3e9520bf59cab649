"""A sampled softmax: the batch's targets and words drawn from the unigram to the power .75, each score less the log of
its chance to be there. Fused AdamW, which moves all rows."""

import torch
from torch import Tensor, nn

from benchmarks.contestants import Task, full


class Network(full.Network):
    """The full network with another loss."""

    def __init__(self, task: Task):
        super().__init__(task)
        proposal = (task.counts + 1) ** task.recipe.power
        self.register_buffer("proposal", proposal / proposal.sum())
        self.draws = task.recipe.samples  # with replacement: with the targets about as many words as ours

    def loss(self, context: Tensor, target: Tensor) -> Tensor:
        """Mean over the batch, in nats, over the words that take part."""
        drawn = torch.multinomial(self.proposal, self.draws, replacement=True)
        words, place = torch.unique(torch.cat([target, drawn]), return_inverse=True)
        column = place[: len(target)]
        chance = -torch.expm1(self.draws * torch.log1p(-self.proposal[words]))
        chance[column] = 1  # a target is always there
        return nn.functional.cross_entropy(self.scores(self.features(context), words) - chance.log(), column)

    def scores(self, features: Tensor, words: Tensor) -> Tensor:
        """Of some words, (B, K)."""
        return nn.functional.linear(features, self.output.weight[words], self.output.bias[words])
