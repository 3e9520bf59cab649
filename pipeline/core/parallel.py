"""The paper's two ways to train on several processors (section 3), on torch.distributed.

Data-parallel: each rank takes its part of every batch, and the gradients are summed over the ranks. All ranks wait for
each other at every step. The paper's processes did not wait, and wrote to shared memory without locks:
benchmarks/parallel.py does that.
Parameter-parallel: each rank has a block of output units, that is, of the rows of WU and b. For each example the ranks
exchange only the largest of their log sums of exponentials, the sum of the exponentials, the target's score, and the
gradient of [x; a].

Every rank runs the same training loop with the same seed, so batches, candidates and dropout are those of a single
process; losses differ only by float rounding. Without a process group, each class works in a single process.
"""

import time

import torch
import torch.distributed as dist
from torch import Tensor, nn

from pipeline.core.common.settings import ModelSettings
from pipeline.core.families.feedforward import FeedforwardNetwork
from pipeline.core.networks.softmax import log_partition


class _Exchange:
    """Sums over the ranks; counts the bytes and seconds that this rank spends on them."""

    def __init__(self):
        self.rank = dist.get_rank() if dist.is_initialized() else 0
        self.ranks = dist.get_world_size() if dist.is_initialized() else 1
        self.bytes, self.seconds = 0, 0.0

    def block(self, size: int) -> slice:
        """This rank's part of `size` items."""
        return slice(size * self.rank // self.ranks, size * (self.rank + 1) // self.ranks)

    def reduce(self, tensor: Tensor, largest: bool = False) -> Tensor:
        """The sum, or the maximum, over the ranks, in place."""
        if self.ranks > 1:
            start = time.perf_counter()
            dist.all_reduce(tensor, dist.ReduceOp.MAX if largest else dist.ReduceOp.SUM)
            self.seconds += time.perf_counter() - start  # with the wait for the slower rank
            self.bytes += tensor.numel() * tensor.element_size()
        return tensor


class _Sum(torch.autograd.Function):
    """The sum over the ranks. Each rank computes the same loss from it, so its gradient needs no exchange."""

    @staticmethod
    def forward(ctx, tensor: Tensor, exchange: _Exchange) -> Tensor:
        return exchange.reduce(tensor.clone())

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient, None


class _Spread(torch.autograd.Function):
    """A tensor that is equal on all ranks, which each rank uses differently: its gradient is summed over the ranks."""

    @staticmethod
    def forward(ctx, tensor: Tensor, exchange: _Exchange) -> Tensor:
        ctx.exchange = exchange
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None]:
        return ctx.exchange.reduce(gradient.clone()), None


class DataParallel(FeedforwardNetwork):
    """The network of the paper; in training, the output layer, which takes most of the time, gets only this rank's part
    of each batch.

    The layers before it process the whole batch on each rank, so that all ranks look up the same words and draw the
    same dropout.
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
        """[x; a] of this rank's part of the batch in training mode, else of all contexts."""
        z = super().output_inputs(context)
        return z[self.exchange.block(len(z))] if self.training else z

    def cross_entropy(self, y: Tensor, column: Tensor) -> Tensor:
        """The loss of the whole batch, from the scores y of this rank's part."""
        local_column = column[self.exchange.block(len(column))]
        return _Sum.apply(nn.functional.cross_entropy(y, local_column, reduction="sum") / len(column), self.exchange)


class ParameterParallel(FeedforwardNetwork):
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
        """As in a single process: draws the full network, and copies this rank's block."""
        network = FeedforwardNetwork(self.architecture, self.vocabulary)
        for name, parameter in network.initialise(features, weights, bias, generator).named_parameters():
            self.get_parameter(name).copy_(parameter[self.block] if name in ("WU", "b") else parameter)
        return self

    @torch.no_grad()
    def gather_state(self) -> dict[str, Tensor]:
        """The parameters of the full network, with the blocks of WU and b of all ranks."""
        state = self.state_dict()
        for name in ("WU", "b"):
            full = state[name].new_zeros(self.vocabulary, *state[name].shape[1:])
            full[self.block] = state[name]
            state[name] = self.exchange.reduce(full)
        return state

    def output_inputs(self, context: Tensor) -> Tensor:
        """[x; a], whose gradient is summed over the output units of all ranks."""
        return _Spread.apply(super().output_inputs(context), self.exchange)

    @torch.no_grad()
    def log_probabilities(self, context: Tensor, target: Tensor, row_of: Tensor | None = None) -> Tensor:
        """See base.Network."""
        z = self.output_inputs(context)
        log_sum = log_partition(z, self.WU, self.b)
        if row_of is not None:
            z, log_sum = z[row_of], log_sum[row_of]
        row, is_local = self._local_rows(target)
        target_score = ((z * self.WU[row]).sum(1) + self.b[row]) * is_local
        return -self._losses(log_sum, target_score)

    def loss(
        self, context: Tensor, target: Tensor, words: Tensor | None = None, correction: Tensor | None = None
    ) -> Tensor:
        """The loss of the full softmax, which includes the words of all ranks. See base.Network."""
        if words is None:
            y, constant = self(context), 0.0
            column, is_local = self._local_rows(target)
        else:
            row, local_words = self._local_rows(words)
            y = self(context, row[local_words]) - correction[local_words]
            place = torch.searchsorted(words, target)
            constant = correction[place].mean()
            is_local = local_words[place]
            column = torch.where(is_local, local_words.cumsum(0)[place] - 1, 0)
        # Zeros (y.sum) where this rank has no candidates.
        target_score = torch.where(is_local, y.gather(1, column[:, None])[:, 0], 0) if y.shape[1] else y.sum(1)
        return self._losses(torch.logsumexp(y, 1), target_score).mean() - constant

    def _local_rows(self, words: Tensor) -> tuple[Tensor, Tensor]:
        """The row of each word in this rank's block, 0 for words of other ranks; and the mask of this rank's words."""
        mask = (words >= self.block.start) & (words < self.block.stop)
        return torch.where(mask, words - self.block.start, 0), mask

    def _losses(self, log_sum: Tensor, target_score: Tensor) -> Tensor:
        """-log P of each target, (B,), from this rank's log sum of exponentials and the target's score (0 where the
        target is on another rank)."""
        top = self.exchange.reduce(log_sum.detach().clone(), largest=True)
        exponentials, score = _Sum.apply(torch.stack([(log_sum - top).exp(), target_score]), self.exchange)
        return top + exponentials.log() - score


KINDS = {"data": DataParallel, "parameters": ParameterParallel}
