"""What a good user of stock PyTorch writes after reading our code: Poisson sampling, bfloat16 for the one large
product, torch's fused Adam on a copy of the rows that a batch touches. Dropout is torch's, and products have as many
columns as there are candidates, where ours fill up to a multiple of 64."""

import torch
from torch import Tensor, nn
from torch.optim.adam import adam

from benchmarks.contestants import Task, full, sparse
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
    """Torch's fused Adam on a copy of the rows that a sparse gradient holds."""

    def __init__(self, tables: list[nn.Parameter], lr: float, betas: tuple[float, float], eps: float):
        super().__init__(tables, {"lr": lr, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self) -> None:
        """One step on the rows of each table's gradient."""
        for group in self.param_groups:
            for table in group["params"]:
                self._step(table, table.grad.coalesce(), group)

    def _step(self, table: nn.Parameter, gradient: Tensor, group: dict) -> None:
        state = self.state[table]
        if not state:
            state["step"] = torch.zeros(())
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


def train(task: Task) -> tuple[Network, float]:
    """The network, and the seconds that its training took."""
    network = Network(task)
    _, hidden, decay = sparse.optimisers(network, task)
    by_row = RowAdam([network.embedding.weight, network.weight.weight, network.bias.weight], **full.adam(task))
    return network, full.loop(network, [by_row, hidden, decay], network.loss, task)
