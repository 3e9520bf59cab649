"""The updates of a recipe: stochastic gradient descent (SGD) as in the paper, or Adam on the rows that a batch uses;
the learning rate at each step; weight decay.

With the sampled softmax a batch uses a twentieth of the rows, so Adam on all |V| rows would cost much more per step.
These are not subclasses of torch.optim.Optimizer, which imports torch's compiler: a second of each process.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch.nn import Parameter
from torch.optim.adam import adam

from pipeline.core.common.settings import RecipeSettings
from pipeline.core.networks.base import Network


def make_optimiser(network: Network, recipe: RecipeSettings) -> "Sgd | Adam":
    """The optimiser of all parameters that train."""
    parameters = [parameter for parameter in network.parameters() if parameter.requires_grad]
    if recipe.optimiser == "sgd":
        return Sgd(parameters)
    return Adam(parameters, beta1=recipe.beta1, beta2=recipe.beta2, epsilon=recipe.epsilon)


class Moments(NamedTuple):
    """What Adam keeps of a parameter from step to step."""

    mean: torch.Tensor  # of the gradient, in the parameter's shape
    square: torch.Tensor  # mean of the squared gradient
    steps: torch.Tensor  # done, a scalar


class Sgd:
    """Stochastic gradient descent: theta += e_t dL/dtheta (section 3; L: the log-likelihood, summed over words)."""

    def __init__(self, parameters: Sequence[Parameter]):
        self.parameters = parameters
        self.moments: list[Moments] = []  # it has none

    @torch.no_grad()
    def step(self, rate: float, words: int) -> None:
        """One update by the gradients of a loss that is a mean over `words` words, then dropped. rate: e_t."""
        for parameter in self.parameters:
            if parameter.grad is not None:
                parameter.add_(parameter.grad, alpha=-rate * words)
                parameter.grad = None


class Adam:
    """Adam by torch's fused kernel. Of a sparse gradient, on a copy of the rows that it holds.

    torch.optim.SparseAdam makes a dozen passes over the rows. It adds epsilon before the bias correction of the second
    moment; Adam adds it after. `python -m benchmarks by_hand` measures the gain.
    """

    def __init__(self, parameters: Sequence[Parameter], beta1: float, beta2: float, epsilon: float):
        self.parameters = parameters
        self.values = {"beta1": beta1, "beta2": beta2, "eps": epsilon}
        self.moments = [
            Moments(torch.zeros_like(tensor), torch.zeros_like(tensor), torch.zeros((), device=tensor.device))
            for tensor in parameters
        ]

    @torch.no_grad()
    def step(self, rate: float, words: int) -> None:
        """One update by the gradients of a loss that is a mean over `words` words, then dropped."""
        for parameter, moments in zip(self.parameters, self.moments, strict=True):
            if parameter.grad is None:
                continue
            if parameter.grad.is_sparse:
                gradient = parameter.grad.coalesce()
                rows, tables = gradient.indices()[0], (parameter, moments.mean, moments.square)
                copies = [table.index_select(0, rows) for table in tables]
                self._adam(*copies, moments.steps, gradient.values(), rate)
                for table, copy in zip(tables, copies, strict=True):
                    table.index_copy_(0, rows, copy)
            else:
                self._adam(parameter, *moments, parameter.grad, rate)
            parameter.grad = None

    def _adam(
        self,
        weights: torch.Tensor,
        mean: torch.Tensor,
        square: torch.Tensor,
        steps: torch.Tensor,
        gradient: torch.Tensor,
        rate: float,
    ) -> None:
        adam(
            params=[weights],
            grads=[gradient],
            exp_avgs=[mean],
            exp_avg_sqs=[square],
            max_exp_avg_sqs=[],
            state_steps=[steps],
            lr=rate,
            **self.values,
            weight_decay=0.0,
            amsgrad=False,
            maximize=False,
            fused=True,
        )


def rate_at(recipe: RecipeSettings, step: int, steps: int) -> float:
    """The value of the schedule of `recipe.rate`, e_t, at `step` (from 0) of `steps`. See Sgd."""
    if recipe.schedule == "inverse":
        return recipe.rate / (1 + recipe.rate_decay * step * recipe.batch)
    rise = recipe.warmup * steps
    if step < rise:
        return recipe.rate * (step + 1) / (rise + 1)
    progress = (step - rise) / (steps - rise)
    return recipe.rate * (1 - progress if recipe.schedule == "linear" else 0.5 * (1 + math.cos(math.pi * progress)))


@torch.no_grad()
def decay(network: Network, recipe: RecipeSettings, rate: float, words: int, contexts: list[torch.Tensor]) -> None:
    """Weight decay: theta -= e_t lambda theta, once for each of `words` words; not for biases (paper, section 3).

    contexts: ids of the contexts of these words. With recipe.decayed=visited, a row of C decays once for each time that
    its word occurs in a context (section 2: the features of other words need not be visited).
    """
    factor = max(1 - rate * recipe.weight_decay, 0.0)
    for parameter in network.parameters():
        if parameter.dim() > 1 and parameter.requires_grad:
            if parameter is network.C and recipe.decayed == "visited":
                visits = torch.cat([context.flatten() for context in contexts]).bincount(minlength=len(parameter))
                parameter.mul_((factor**visits).unsqueeze(1))
            else:
                parameter.mul_(factor**words)
