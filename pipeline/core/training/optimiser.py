"""The updates of a recipe: stochastic gradient descent as in the paper, or Adam, which moves only the rows of a matrix
that a batch touches; the learning rate of each; weight decay.

Adam that moves all rows would cost |V| of them a step, where the sampled softmax touches a twentieth.
"""

import math

import torch
from torch.optim.adam import adam

from pipeline.core.common.settings import RecipeSettings
from pipeline.core.networks.base import Network


def make_optimisers(network: Network, recipe: RecipeSettings) -> list[torch.optim.Optimizer]:
    """For all parameters that train; RowAdam for the tables where their gradients are sparse."""
    named = {name: parameter for name, parameter in network.named_parameters() if parameter.requires_grad}
    if recipe.optimiser == "sgd":
        return [torch.optim.SGD(named.values(), recipe.rate)]
    values = {"lr": recipe.rate, "betas": (recipe.beta1, recipe.beta2), "eps": recipe.epsilon}
    tables = [named.pop(name) for name in network.tables if name in named] if network.sparse else []
    by_row = [RowAdam(tables, **values)] if tables else []
    return [*by_row, torch.optim.Adam(named.values(), **values, fused=True)]


class RowAdam(torch.optim.Optimizer):
    """Adam on the rows that a sparse gradient holds: torch's fused kernel on a copy of these rows.

    torch.optim.SparseAdam makes a dozen passes over the rows, and adds epsilon before it corrects the second moment's
    bias, Adam after. `python -m benchmarks by_hand` has what this gains.
    """

    def __init__(self, tables: list[torch.nn.Parameter], lr: float, betas: tuple[float, float], eps: float):
        super().__init__(tables, {"lr": lr, "betas": betas, "eps": eps, "fused": True})  # `fused`: as state is loaded

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
        rows, wholes = gradient.indices()[0], (table, state["mean"], state["square"])
        weights, mean, square = (whole.index_select(0, rows) for whole in wholes)
        beta1, beta2 = group["betas"]
        values = {"lr": group["lr"], "beta1": beta1, "beta2": beta2, "eps": group["eps"], "weight_decay": 0.0}
        lists = [weights], [gradient.values()], [mean], [square], [], [state["step"]]
        adam(*lists, **values, amsgrad=False, maximize=False, fused=True)
        for whole, moved in zip(wholes, (weights, mean, square), strict=True):
            whole.index_copy_(0, rows, moved)


def rate_at(recipe: RecipeSettings, step: int, steps: int) -> float:
    """The learning rate e_t of a step (from 0) of so many."""
    if recipe.schedule == "inverse":
        return recipe.rate / (1 + recipe.rate_decay * step * recipe.batch)
    rise = recipe.warmup * steps
    if step < rise:
        return recipe.rate * (step + 1) / (rise + 1)
    gone = (step - rise) / (steps - rise)
    return recipe.rate * (1 - gone if recipe.schedule == "linear" else 0.5 * (1 + math.cos(math.pi * gone)))


def update(optimisers: list[torch.optim.Optimizer], rate: float, words: int) -> None:
    """One update at a learning rate, with the gradient of a mean over so many words.

    The paper's: theta += e_t dL/dtheta summed over the words (section 3; L: the log-likelihood).
    """
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["lr"] = rate * words if isinstance(optimiser, torch.optim.SGD) else rate
        optimiser.step()
        optimiser.zero_grad()


@torch.no_grad()
def decay(network: Network, recipe: RecipeSettings, rate: float, words: int, contexts: list[torch.Tensor]) -> None:
    """theta -= e_t lambda theta for each of so many words; not for biases (paper, section 3).

    contexts: ids of these words' contexts. With recipe.decayed=visited a row of C shrinks once for each place of a
    context in which its word stands (section 2: the features of other words need not be visited).
    """
    kept = max(1 - rate * recipe.weight_decay, 0.0)
    for parameter in network.parameters():
        if parameter.dim() > 1 and parameter.requires_grad:
            if parameter is network.C and recipe.decayed == "visited":
                visits = torch.cat([context.flatten() for context in contexts]).bincount(minlength=len(parameter))
                parameter.mul_((kept**visits).unsqueeze(1))
            else:
                parameter.mul_(kept**words)
