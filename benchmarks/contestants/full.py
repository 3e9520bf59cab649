"""As one writes it first: Embedding and Linear layers, cross_entropy over all words, fused AdamW."""

import math
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from benchmarks.contestants import Task


class Network(nn.Module):
    """Equation 1 in layers."""

    def __init__(self, task: Task):
        super().__init__()
        inputs = (task.shape.n - 1) * task.shape.m
        self.direct = task.shape.direct
        self.embedding = nn.Embedding(len(task.counts), task.shape.m)
        self.hidden = nn.Linear(inputs, task.shape.h)
        self.dropout = nn.Dropout(task.recipe.dropout)
        self.output = nn.Linear(task.shape.h + inputs * self.direct, len(task.counts))
        nn.init.normal_(self.embedding.weight, std=task.recipe.features_std)
        with torch.no_grad():
            self.output.bias.copy_(((task.counts + 1) / (task.counts + 1).sum()).log())

    def features(self, context: Tensor) -> Tensor:
        """What enters the output layer, (B, D)."""
        x = self.embedding(context).flatten(1)
        a = torch.tanh(self.hidden(x))
        return self.dropout(torch.cat([x, a], 1) if self.direct else a)

    def loss(self, context: Tensor, target: Tensor) -> Tensor:
        """Mean over the batch, in nats."""
        return nn.functional.cross_entropy(self.output(self.features(context)), target)

    def log_probabilities(self, context: Tensor, target: Tensor) -> Tensor:
        """Exact, (B,)."""
        return -nn.functional.cross_entropy(self.output(self.features(context)), target, reduction="none")


def optimisers(network: nn.Module, task: Task) -> list[torch.optim.Optimizer]:
    """AdamW; no weight decay for biases."""
    decay = task.recipe.weight_decay * task.recipe.batch  # the recipe's is by the word
    matrices = [parameter for parameter in network.parameters() if parameter.dim() > 1]
    biases = [parameter for parameter in network.parameters() if parameter.dim() == 1]
    groups = [{"params": matrices, "weight_decay": decay}, {"params": biases, "weight_decay": 0.0}]
    return [torch.optim.AdamW(groups, fused=True, **adam(task))]


def adam(task: Task) -> dict:
    """Adam's values."""
    return {"lr": task.recipe.rate, "betas": (task.recipe.beta1, task.recipe.beta2), "eps": task.recipe.epsilon}


def loop(network: nn.Module, optimisers: list, loss: Callable[[Tensor, Tensor], Tensor], task: Task) -> float:
    """Trains; returns the seconds that it took."""
    recipe = task.recipe
    steps = math.ceil(len(task.target) / recipe.batch) * recipe.epochs
    rise = recipe.warmup * steps

    def fraction(step: int) -> float:
        return (step + 1) / (rise + 1) if step < rise else (steps - step) / (steps - rise)

    schedulers = [torch.optim.lr_scheduler.LambdaLR(each, fraction) for each in optimisers]
    start = time.perf_counter()
    for _ in range(recipe.epochs):
        for places in torch.randperm(len(task.target)).split(recipe.batch):
            loss(task.context[places], task.target[places]).backward()
            for optimiser, scheduler in zip(optimisers, schedulers, strict=True):
                optimiser.step()
                optimiser.zero_grad()
                scheduler.step()
            task.steps.append(time.perf_counter())
    return time.perf_counter() - start


def train(task: Task) -> tuple[Network, float]:
    """The network, and the seconds that its training took."""
    network = Network(task)
    return network, loop(network, optimisers(network, task), network.loss, task)
