"""The updates of a recipe: stochastic gradient descent (SGD) as in the paper, or Adam on the rows that a batch uses;
the learning rate at each step; weight decay.

With the sampled softmax a batch uses a twentieth of the rows, so Adam on all |V| rows would cost much more per step.
"""

import math

import torch
from torch.optim.adam import adam

from pipeline.core.common.settings import RecipeSettings
from pipeline.core.networks.base import Network


def make_optimisers(network: Network, recipe: RecipeSettings) -> list[torch.optim.Optimizer]:
    """The optimisers of all parameters that train: SGD; or Adam, with RowAdam for tables with sparse gradients."""
    named = {name: parameter for name, parameter in network.named_parameters() if parameter.requires_grad}
    if recipe.optimiser == "sgd":
        return [torch.optim.SGD(named.values(), recipe.rate)]
    values = {"lr": recipe.rate, "betas": (recipe.beta1, recipe.beta2), "eps": recipe.epsilon}
    tables = [named.pop(name) for name in network.tables if name in named] if network.sparse else []
    by_row = [RowAdam(tables, **values)] if tables else []
    return [*by_row, torch.optim.Adam(named.values(), **values, fused=True)]


class RowAdam(torch.optim.Optimizer):
    """Adam on the rows that a sparse gradient holds: torch's fused kernel on a copy of these rows.

    torch.optim.SparseAdam makes a dozen passes over the rows. It adds epsilon before the bias correction of the second
    moment; Adam adds it after. `python -m benchmarks by_hand` measures the gain.
    """

    def __init__(self, tables: list[torch.nn.Parameter], lr: float, betas: tuple[float, float], eps: float):
        super().__init__(tables, {"lr": lr, "betas": betas, "eps": eps, "fused": True})  # `fused`: for load_state_dict

    @torch.no_grad()
    def step(self) -> None:
        """One step on the rows of each table's gradient."""
        for group in self.param_groups:
            for table in group["params"]:
                self._step(table, table.grad.coalesce(), group)

    def _step(self, table: torch.nn.Parameter, gradient: torch.Tensor, group: dict) -> None:
        state = self.state[table]
        if not state:
            state["step"] = torch.zeros((), device=table.device)
            state["mean"], state["square"] = torch.zeros_like(table), torch.zeros_like(table)
        rows, tensors = gradient.indices()[0], (table, state["mean"], state["square"])
        weights, mean, square = (tensor.index_select(0, rows) for tensor in tensors)
        beta1, beta2 = group["betas"]
        adam(
            params=[weights],
            grads=[gradient.values()],
            exp_avgs=[mean],
            exp_avg_sqs=[square],
            max_exp_avg_sqs=[],
            state_steps=[state["step"]],
            lr=group["lr"],
            beta1=beta1,
            beta2=beta2,
            eps=group["eps"],
            weight_decay=0.0,
            amsgrad=False,
            maximize=False,
            fused=True,
        )
        for tensor, updated in zip(tensors, (weights, mean, square), strict=True):
            tensor.index_copy_(0, rows, updated)


def rate_at(recipe: RecipeSettings, step: int, steps: int) -> float:
    """The value of the schedule of `recipe.rate`, e_t, at `step` (from 0) of `steps`. See update."""
    if recipe.schedule == "inverse":
        return recipe.rate / (1 + recipe.rate_decay * step * recipe.batch)
    rise = recipe.warmup * steps
    if step < rise:
        return recipe.rate * (step + 1) / (rise + 1)
    progress = (step - rise) / (steps - rise)
    return recipe.rate * (1 - progress if recipe.schedule == "linear" else 0.5 * (1 + math.cos(math.pi * progress)))


def update(optimisers: list[torch.optim.Optimizer], rate: float, words: int) -> None:
    """One update, with the gradient of a loss that is a mean over `words` words.

    Adam: `rate` is its learning rate. SGD: `rate` is the paper's e_t, with which the gradient is summed over the words:
    theta += e_t dL/dtheta (section 3; L: the log-likelihood). The sum is the mean's gradient times `words`.
    """
    for optimiser in optimisers:
        sums_over_words = isinstance(optimiser, torch.optim.SGD)
        learning_rate = rate * words if sums_over_words else rate
        for group in optimiser.param_groups:
            group["lr"] = learning_rate
        optimiser.step()
        optimiser.zero_grad()


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
