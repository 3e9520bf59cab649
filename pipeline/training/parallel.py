"""The paper's two ways to train on several processors (section 3), on torch.distributed.

Data-parallel: each rank takes its part of every batch, and the gradients are summed over the ranks.
Parameter-parallel: each rank owns a block of output units, that is of rows of WU and b. For each example only the
largest logit, the sum of exponentials, the target's logit and the gradient on [x; a] go from rank to rank.

Every rank runs the same training loop with the same seed, so batches, candidates and dropout are those of one process
alone; losses differ from its by float rounding. Without a process group each class is the network alone.
"""

import time

import torch
import torch.distributed as dist
from torch import Tensor, nn

from pipeline.networks import feedforward
from pipeline.networks.architecture import Architecture
from pipeline.networks.base import Gradient
from pipeline.networks.softmax import Slope, log_partition


class _Exchange:
    """Sums over the ranks, and how many bytes and seconds this rank has spent on them."""

    def __init__(self):
        self.rank = dist.get_rank() if dist.is_initialized() else 0
        self.ranks = dist.get_world_size() if dist.is_initialized() else 1
        self.bytes, self.seconds = 0, 0.0

    def block(self, size: int) -> tuple[int, int]:
        """This rank's part of so many things: first and end."""
        return size * self.rank // self.ranks, size * (self.rank + 1) // self.ranks

    def reduce(self, tensor: Tensor, largest: bool = False) -> Tensor:
        """The sum over the ranks, or the largest, in place."""
        if self.ranks > 1:
            start = time.perf_counter()
            dist.all_reduce(tensor, dist.ReduceOp.MAX if largest else dist.ReduceOp.SUM)
            self.seconds += time.perf_counter() - start  # with the wait for the slower rank
            self.bytes += tensor.numel() * tensor.element_size()
        return tensor


class DataParallel(feedforward.Network):
    """The network of the paper; each rank computes the gradient of its part of the batch."""

    def __init__(self, architecture: Architecture, vocabulary: int):
        super().__init__(architecture, vocabulary)
        self.exchange = _Exchange()

    @torch.no_grad()
    def gradient(
        self,
        context: Tensor,
        target: Tensor,
        candidates: Tensor,
        log_inclusion: Tensor,
        dropout: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> Gradient:
        """The whole batch's gradient, of which this rank computes a part."""
        first, end = self.exchange.block(len(target))
        self._skip(first, dropout, generator)
        words = torch.unique(context)
        if end > first:
            part = slice(first, end)
            own = super().gradient(context[part], target[part], candidates, log_inclusion, dropout, generator)
        else:  # fewer words than ranks
            own = super().gradient(context[:1], target[:1], candidates, log_inclusion)
        self._skip(len(target) - end, dropout, generator)
        share = (end - first) / len(target)
        touched, slope = own.slopes["C"]
        whole = slope.new_zeros(len(words), slope.shape[1])
        own.slopes["C"] = words, whole.index_copy_(0, torch.searchsorted(words, touched), slope)
        for _, slope in own.slopes.values():
            self.exchange.reduce(slope.mul_(share))
        return Gradient(self.exchange.reduce(own.loss * share), own.slopes)

    def _skip(self, examples: int, dropout: float, generator: torch.Generator | None) -> None:
        """Draws the dropout of examples that other ranks see, so that all generators stay together."""
        if dropout:
            torch.rand(examples, self.WU.shape[1], dtype=self.WU.dtype, device=self.WU.device, generator=generator)


class ParameterParallel(feedforward.Network):
    """The network of the paper; WU and b hold this rank's block of output units alone."""

    def __init__(self, architecture: Architecture, vocabulary: int):
        super().__init__(architecture, vocabulary)
        self.exchange = _Exchange()
        self.vocabulary = vocabulary
        self.first, self.end = self.exchange.block(vocabulary)
        self.WU = nn.Parameter(self.WU.detach()[self.first : self.end].clone())
        self.b = nn.Parameter(self.b.detach()[self.first : self.end].clone())

    @torch.no_grad()
    def initialise(
        self, features: float, weights: float, bias: Tensor, generator: torch.Generator
    ) -> "ParameterParallel":
        """As one process alone would: the whole network is drawn, and a block of it kept."""
        whole = feedforward.Network(self.architecture, self.vocabulary)
        whole.initialise(features, weights, bias, generator)
        self.C.copy_(whole.C)
        self.H.copy_(whole.H)
        self.WU.copy_(whole.WU[self.first : self.end])
        self.b.copy_(whole.b[self.first : self.end])
        return self

    @torch.no_grad()
    def whole(self) -> dict[str, Tensor]:
        """The parameters of the whole network, each rank's block of WU and b in its place."""
        state = self.state_dict()
        for name in ("WU", "b"):
            full = state[name].new_zeros(self.vocabulary, *state[name].shape[1:])
            full[self.first : self.end] = state[name]
            state[name] = self.exchange.reduce(full)
        return state

    @torch.no_grad()
    def log_probabilities(self, context: Tensor, target: Tensor) -> Tensor:
        """Exact natural-log probability (B,) of each target (B,) after its context (B, n-1)."""
        z = self.output_inputs(context)
        total = log_partition(z, self.WU, self.b)
        largest = self.exchange.reduce(total.clone(), largest=True)
        sums = torch.stack([(total - largest).exp_(), self._own_logits(z, target)])
        exponentials, own = self.exchange.reduce(sums)
        return own - largest - exponentials.log()

    def _own_logits(self, z: Tensor, target: Tensor) -> Tensor:
        """The target's logit where it is of this rank's block, else zero, (B,)."""
        mine = (target >= self.first) & (target < self.end)
        row = torch.where(mine, target - self.first, 0)
        return ((z * self.WU[row]).sum(1) + self.b[row]) * mine

    @torch.no_grad()
    def output_gradient(
        self, z: Tensor, target: Tensor, candidates: Tensor, log_inclusion: Tensor
    ) -> tuple[Tensor, Tensor, Slope, Slope]:
        """Loss and gradient on z (B, D): the whole, the same on each rank; on WU and b: of this rank's candidates."""
        mine = (candidates >= self.first) & (candidates < self.end)
        rows = candidates[mine] - self.first
        weight = self.WU[rows]
        y = torch.addmm(self.b[rows] - log_inclusion[mine], z, weight.T)
        top = y.amax(1) if len(rows) else torch.full_like(z[:, 0], -torch.inf)
        y -= self.exchange.reduce(top, largest=True)[:, None]
        column = torch.searchsorted(rows, target - self.first).clamp(max=max(len(rows) - 1, 0))[:, None]
        held = (target >= self.first) & (target < self.end)
        own = torch.where(held, y.gather(1, column).squeeze(1), 0) if len(rows) else torch.zeros_like(top)
        exponentials, own = self.exchange.reduce(torch.stack([y.exp_().sum(1), own]))
        loss = (exponentials.log() - own).mean() - log_inclusion[torch.searchsorted(candidates, target)].mean()
        y /= exponentials[:, None] * len(y)
        if len(rows):
            y.scatter_add_(1, column, torch.where(held, -1 / len(y), 0.0).to(y.dtype)[:, None])
        return loss, self.exchange.reduce(y @ weight), (rows, y.T @ z), (rows, y.sum(0))
