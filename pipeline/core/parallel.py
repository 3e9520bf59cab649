"""The paper's two ways to train on several processors (section 3), on torch.distributed.

Data-parallel: each rank takes its part of every batch, and the gradients are summed over the ranks. All wait for each
other at every step; the paper's processes did not, and wrote into one memory without locks: benchmarks/parallel.py has
that.
Parameter-parallel: each rank owns a block of output units, that is of rows of WU and b. For each example only the
largest of the ranks' log sums of exponentials, their sum, the target's score and the gradient on [x; a] go from rank to
rank.

Every rank runs the same training loop with the same seed, so batches, candidates and dropout are those of one process
alone; losses differ from its by float rounding. Without a process group each class is the network alone.
"""

import time

import torch
import torch.distributed as dist
from torch import Tensor, nn

from pipeline.core.common.settings import ModelSettings
from pipeline.core.families import feedforward
from pipeline.core.networks.softmax import log_partition


class _Exchange:
    """Sums over the ranks, and how many bytes and seconds this rank has spent on them."""

    def __init__(self):
        self.rank = dist.get_rank() if dist.is_initialized() else 0
        self.ranks = dist.get_world_size() if dist.is_initialized() else 1
        self.bytes, self.seconds = 0, 0.0

    def block(self, size: int) -> slice:
        """This rank's part of so many things."""
        return slice(size * self.rank // self.ranks, size * (self.rank + 1) // self.ranks)

    def reduce(self, tensor: Tensor, largest: bool = False) -> Tensor:
        """The sum over the ranks, or the largest, in place."""
        if self.ranks > 1:
            start = time.perf_counter()
            dist.all_reduce(tensor, dist.ReduceOp.MAX if largest else dist.ReduceOp.SUM)
            self.seconds += time.perf_counter() - start  # with the wait for the slower rank
            self.bytes += tensor.numel() * tensor.element_size()
        return tensor


class _Sum(torch.autograd.Function):
    """The sum over the ranks; each rank goes on with all of it, so each has its whole gradient already."""

    @staticmethod
    def forward(ctx, tensor: Tensor, exchange: _Exchange) -> Tensor:
        return exchange.reduce(tensor.clone())

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient, None


class _Spread(torch.autograd.Function):
    """A tensor that all ranks have, for each to use in its own way; the gradient is the sum of theirs."""

    @staticmethod
    def forward(ctx, tensor: Tensor, exchange: _Exchange) -> Tensor:
        ctx.exchange = exchange
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None]:
        return ctx.exchange.reduce(gradient.clone()), None


class DataParallel(feedforward.Network):
    """The network of the paper; in training the output layer, where the time goes, sees this rank's part of each batch.

    What lies before is done for the whole batch on each rank, so that all look up the same words and draw the same
    dropout.
    """

    def __init__(self, architecture: ModelSettings, vocabulary: int):
        super().__init__(architecture, vocabulary)
        self.exchange = _Exchange()
        for parameter in self.parameters():
            parameter.register_post_accumulate_grad_hook(self._sum_gradient)

    def _sum_gradient(self, parameter: nn.Parameter) -> None:
        if parameter.grad.is_sparse:
            parameter.grad = parameter.grad.coalesce()  # the same rows on each rank
            self.exchange.reduce(parameter.grad.values())
        else:
            self.exchange.reduce(parameter.grad)

    def output_inputs(self, context: Tensor) -> Tensor:
        """[x; a] of this rank's part of a batch that is trained on, of all contexts otherwise."""
        z = super().output_inputs(context)
        return z[self.exchange.block(len(z))] if self.training else z

    def cross_entropy(self, y: Tensor, column: Tensor) -> Tensor:
        """The whole batch's, from the scores y of this rank's part."""
        own = column[self.exchange.block(len(column))]
        return _Sum.apply(nn.functional.cross_entropy(y, own, reduction="sum") / len(column), self.exchange)


class ParameterParallel(feedforward.Network):
    """The network of the paper; WU and b hold this rank's block of output units, and `forward` scores those alone."""

    def __init__(self, architecture: ModelSettings, vocabulary: int):
        super().__init__(architecture, vocabulary)
        self.exchange = _Exchange()
        self.vocabulary = vocabulary
        self.block = self.exchange.block(vocabulary)
        self.WU = nn.Parameter(self.WU.detach()[self.block].clone())
        self.b = nn.Parameter(self.b.detach()[self.block].clone())

    @torch.no_grad()
    def initialise(
        self, features: float, weights: float, bias: Tensor, generator: torch.Generator
    ) -> "ParameterParallel":
        """As one process alone would: the whole network is drawn, and a block of it kept."""
        whole = feedforward.Network(self.architecture, self.vocabulary)
        for name, drawn in whole.initialise(features, weights, bias, generator).named_parameters():
            self.get_parameter(name).copy_(drawn[self.block] if name in ("WU", "b") else drawn)
        return self

    @torch.no_grad()
    def whole(self) -> dict[str, Tensor]:
        """The parameters of the whole network, each rank's block of WU and b in its place."""
        state = self.state_dict()
        for name in ("WU", "b"):
            full = state[name].new_zeros(self.vocabulary, *state[name].shape[1:])
            full[self.block] = state[name]
            state[name] = self.exchange.reduce(full)
        return state

    def output_inputs(self, context: Tensor) -> Tensor:
        """[x; a], whose gradient comes from all ranks' output units."""
        return _Spread.apply(super().output_inputs(context), self.exchange)

    @torch.no_grad()
    def log_probabilities(self, context: Tensor, target: Tensor) -> Tensor:
        """Exact natural-log probability (B,) of each target (B,) after its context (B, n-1)."""
        z = self.output_inputs(context)
        row, held = self._own(target)
        own = ((z * self.WU[row]).sum(1) + self.b[row]) * held
        return -self._losses(log_partition(z, self.WU, self.b), own)

    def loss(
        self, context: Tensor, target: Tensor, words: Tensor | None = None, correction: Tensor | None = None
    ) -> Tensor:
        """The loss of the whole softmax, of which this rank's words are a part."""
        if words is None:
            y, constant = self(context), 0.0
            column, held = self._own(target)
        else:
            row, mine = self._own(words)
            y = self(context, row[mine]) - correction[mine]
            place = torch.searchsorted(words, target)
            constant = correction[place].mean()
            held = mine[place]
            column = torch.where(held, mine.cumsum(0)[place] - 1, 0)
        own = torch.where(held, y.gather(1, column[:, None])[:, 0], 0) if y.shape[1] else y.sum(1)  # 0 of no candidates
        return self._losses(torch.logsumexp(y, 1), own).mean() - constant

    def _own(self, words: Tensor) -> tuple[Tensor, Tensor]:
        """The row of each word in this rank's block, 0 for a word of another's, and whether it is of this block."""
        mine = (words >= self.block.start) & (words < self.block.stop)
        return torch.where(mine, words - self.block.start, 0), mine

    def _losses(self, log_sum: Tensor, own: Tensor) -> Tensor:
        """-log P of each target, (B,), from this rank's log sum of exponentials and the target's score, 0 where another
        rank has it."""
        top = self.exchange.reduce(log_sum.detach().clone(), largest=True)
        exponentials, own = _Sum.apply(torch.stack([(log_sum - top).exp(), own]), self.exchange)
        return top + exponentials.log() - own


KINDS = {"data": DataParallel, "parameters": ParameterParallel}
