"""The sampled softmax with sparse gradients: SparseAdam moves the rows that a batch touches, AdamW all else."""

import torch
from torch import Tensor, nn

from benchmarks.contestants import Task, full, sampled

DECAY_STEPS = 16


class Network(sampled.Network):
    """The sampled network; its output layer is an embedding too, the biases one of a single column."""

    def __init__(self, task: Task):
        super().__init__(task)
        self.embedding.sparse = True
        self.weight = nn.Embedding.from_pretrained(self.output.weight.data, freeze=False, sparse=True)
        self.bias = nn.Embedding.from_pretrained(self.output.bias.data[:, None], freeze=False, sparse=True)
        del self.output

    def scores(self, features: Tensor, words: Tensor) -> Tensor:
        """Of some words, (B, K)."""
        return nn.functional.linear(features, self.weight(words), self.bias(words)[:, 0])

    def log_probabilities(self, context: Tensor, target: Tensor) -> Tensor:
        """Exact, (B,)."""
        scores = nn.functional.linear(self.features(context), self.weight.weight, self.bias.weight[:, 0])
        return -nn.functional.cross_entropy(scores, target, reduction="none")


class Decay(torch.optim.Optimizer):
    """The weight decay that SparseAdam doesn't have: a pass over all rows, for sixteen steps at once."""

    def __init__(self, matrices: list[nn.Parameter], lr: float, decay: float):
        super().__init__(matrices, {"lr": lr, "decay": decay})
        self.steps = 0

    @torch.no_grad()
    def step(self) -> None:
        """Each sixteenth does something."""
        self.steps += 1
        for group in self.param_groups:
            if group["decay"] and self.steps % DECAY_STEPS == 0:
                torch._foreach_mul_(group["params"], (1 - group["lr"] * group["decay"]) ** DECAY_STEPS)


def optimisers(network: Network, task: Task) -> list[torch.optim.Optimizer]:
    """For tables, for the hidden layer, and for the tables' decay."""
    matrices = [network.embedding.weight, network.weight.weight]
    decay = task.recipe.weight_decay * task.recipe.batch
    return [
        torch.optim.SparseAdam([*matrices, network.bias.weight], **full.adam(task)),
        torch.optim.AdamW(network.hidden.parameters(), weight_decay=decay, fused=True, **full.adam(task)),
        Decay(matrices, task.recipe.rate, decay),
    ]
