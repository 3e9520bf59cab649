"""The updates of a recipe by torch's optimisers: gradient ascent as in the paper, or Adam, lazily on the rows that a
batch touches; the learning rate of each; weight decay.

Adam that moves all rows would cost |V| of them a step, where the sampled softmax touches a tenth.
"""

import math

import torch

from pipeline.networks.base import Network
from pipeline.training.recipe import Recipe


def make_optimisers(network: Network, recipe: Recipe) -> list[torch.optim.Optimizer]:
    """For all parameters that train; SparseAdam for the tables where their gradients are sparse."""
    named = {name: parameter for name, parameter in network.named_parameters() if parameter.requires_grad}
    if recipe.optimiser == "ascent":
        return [torch.optim.SGD(named.values(), recipe.rate)]
    adam = {"lr": recipe.rate, "betas": (recipe.beta1, recipe.beta2), "eps": recipe.epsilon}
    tables = [named.pop(name) for name in network.tables if name in named] if network.sparse else []
    lazy = [torch.optim.SparseAdam(tables, **adam)] if tables else []
    return [*lazy, torch.optim.Adam(named.values(), **adam, fused=True)]


def rate_at(recipe: Recipe, step: int, steps: int) -> float:
    """The learning rate e_t of a step (from 0) of so many."""
    if recipe.schedule == "inverse":
        return recipe.rate / (1 + recipe.rate_decay * step * recipe.batch)
    rise = recipe.warmup * steps
    if step < rise:
        return recipe.rate * (step + 1) / (rise + 1)
    return recipe.rate * 0.5 * (1 + math.cos(math.pi * (step - rise) / (steps - rise)))


def update(optimisers: list[torch.optim.Optimizer], recipe: Recipe, rate: float, step: int, words: int) -> None:
    """Update number `step`, from 1, with the gradient of a mean over so many words.

    The paper's: theta += e_t dL/dtheta summed over the words (section 3; L: the log-likelihood). SparseAdam adds
    epsilon before it corrects the second moment's bias, Adam after: here both as Adam.
    """
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["lr"] = rate * words if isinstance(optimiser, torch.optim.SGD) else rate
            if isinstance(optimiser, torch.optim.SparseAdam):
                group["eps"] = recipe.epsilon * (1 - recipe.beta2**step) ** 0.5
        optimiser.step()
        optimiser.zero_grad()


@torch.no_grad()
def decay(network: Network, recipe: Recipe, rate: float, words: int) -> None:
    """theta -= e_t lambda theta for each of so many words; not for biases (paper, section 3)."""
    kept = max(1 - rate * recipe.weight_decay, 0.0) ** words
    for parameter in network.parameters():
        if parameter.dim() > 1 and parameter.requires_grad:
            parameter.mul_(kept)
