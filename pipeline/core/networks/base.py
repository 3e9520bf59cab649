"""What training and scoring ask of a family of networks, and what all families share: the contexts of a stream, exact
scoring batch after batch. A family is a file of pipeline/core/families with a class Network of its own."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from pipeline.core.common.settings import ModelSettings

BATCH = 1024  # contexts that are scored at a time
# Candidates of a product in bfloat16 are filled up to a multiple: oneDNN makes and keeps code for each size that it
# meets, which with any number of candidates takes a sixth of MLP9's step and 300 MB.
WIDTH = 64
ACTIVATIONS = {
    "tanh": torch.tanh,  # the paper's
    "relu": torch.relu,
    "gelu": nn.functional.gelu,
    "silu": nn.functional.silu,
    "sigmoid": torch.sigmoid,
}


class Dropout(nn.Module):
    """Dropout with a byte of randomness for each value, where torch.nn.Dropout draws a number: p in steps of 1/256.

    `python -m benchmarks by_hand` has what this gains.
    """

    p = 0.0  # share of the values that a training step leaves out

    def forward(self, x: Tensor) -> Tensor:
        """x in evaluation mode; in training x with some values 0, and the others larger by as much as is missing."""
        left_out = min(round(256 * self.p), 255)
        if not self.training or not left_out:
            return x
        words = torch.empty((x.numel() + 7) // 8, dtype=torch.int64, device=x.device).random_(-(2**63), None)
        kept = words.view(torch.uint8)[: x.numel()].view_as(x) >= left_out
        return x * (kept * (256 / (256 - left_out)))


class Network(nn.Module, ABC):
    """A network: features C (V, m) of words, output biases b (V,), and a `forward` that scores words after contexts.

    tables: names of the parameters of which a batch needs some words' rows alone; with `sparse` their gradients hold
    those rows and no others. dropout: of what enters the output layer, in training mode. bfloat16: whether that layer's
    products, and those of deep layers, round to bfloat16 in training mode.
    """

    tables: tuple[str, ...]
    unbounded: ClassVar[bool] = False  # whether it has all words before, so that n bounds a training step alone
    in_order: ClassVar[bool] = False  # whether it reads a stream from its beginning, and carries a state (core/streams)
    in_pairs: ClassVar[bool] = False  # whether it scores each word together with each context, one pair by itself
    has: ClassVar[tuple[str, ...]] = ()  # of direct, indexed and activation in conf/models.yaml those that it has
    deep: ClassVar[tuple[str, ...]] = ()  # of the keys below `deep` in conf/models.yaml those that it has
    C: nn.Parameter
    b: nn.Parameter

    def __init__(self, architecture: ModelSettings):
        """architecture: an entry of conf/models.yaml; n is the order, so that there are n-1 words of context."""
        super().__init__()
        self.architecture = architecture
        self.dropout = Dropout()
        self.sparse = False
        self.bfloat16 = False
        self.state: tuple[Tensor, ...] | None = None  # of streams, which a training step leaves to the next

    @classmethod
    def check(cls, architecture: ModelSettings) -> None:
        """Raises InputError for a shape that this family can't have."""

    @property
    def inputs(self) -> int:
        """Length of x, the features of the whole context: (n-1) m."""
        return (self.architecture.n - 1) * self.architecture.m

    @abstractmethod
    def forward(self, context: Tensor, words: Tensor | None = None) -> Tensor:
        """Scores y (B, K) of some words (K,), or of all, after contexts (B, n-1); the softmax of all is P."""

    @torch.no_grad()
    def log_probabilities(self, context: Tensor, target: Tensor) -> Tensor:
        """Exact natural-log probability (B,) of each target (B,) after its context (B, n-1).

        Right for any family; those that are here have faster ways.
        """
        return -nn.functional.cross_entropy(self(context), target, reduction="none")

    def distribution(self, context: Tensor) -> Tensor:
        """Natural-log probabilities (B, V) of all words after each context (B, n-1)."""
        return torch.log_softmax(self(context), 1)

    def score(
        self,
        ids: np.ndarray,
        before: np.ndarray,
        mark: int,
        places: np.ndarray | None = None,
        progress: Callable[[int], object] = lambda words: None,
    ) -> np.ndarray:
        """Exact natural-log probability (T,) float32 of each token of a split, or of those at rising places (T,) alone.

        ids: a split; before: what precedes it in the stream; mark: see contexts; progress: called with the words done.
        """
        every = slice(None) if places is None else places
        return score(self, contexts(ids, before, self.architecture.n, mark)[every], ids[every], progress)

    def stretches(self, ids: np.ndarray, before: np.ndarray, mark: int, length: int) -> Iterator[Tensor]:
        """y (L, V) of each stretch of so many tokens of a split in order, with its gradient. See score."""
        windows = contexts(ids, before, self.architecture.n, mark)
        for start in range(0, len(ids), length):
            yield self(torch.from_numpy(windows[start : start + length].astype(np.int64)))

    def next(self, before: np.ndarray, mark: int) -> np.ndarray:
        """Natural-log probabilities (V,) of all words after the words `before`."""
        empty = np.zeros(1, dtype=np.int64)  # the place to be filled
        context = contexts(empty, before.astype(np.int64), self.architecture.n, mark)
        with torch.no_grad():
            return self.eval().distribution(torch.from_numpy(context.copy()))[0].numpy()

    def loss(
        self, context: Tensor, target: Tensor, words: Tensor | None = None, correction: Tensor | None = None
    ) -> Tensor:
        """Mean over the batch of log sum exp(y - correction) - y of the target, in nats.

        words: candidates (K,), rising, every target (B,) among them, with the correction (K,) that the sampler takes
        off their scores; None: the full softmax.
        """
        y = self(context, words)
        if words is None:
            return self.cross_entropy(y, target)
        column = torch.searchsorted(words, target)
        return self.cross_entropy(y.sub_(correction), column) - correction[column].mean()

    def cross_entropy(self, y: Tensor, column: Tensor) -> Tensor:
        """The mean loss () of scores y (B, K) where the targets have these columns (B,)."""
        return nn.functional.cross_entropy(y, column)

    @torch.no_grad()
    def initialise(self, features: float, weights: float, bias: Tensor, generator: torch.Generator) -> "Network":
        """Random features and weights, uniform as in NIPS 2000, and given output biases; the other biases stay zero.

        features: standard deviation of C; weights: of every other matrix, times the root of its fan-in;
        bias: (V,), such as the log unigram, from which training then need not start by learning frequencies.
        """
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1 and parameter.numel():
                bound = 3**0.5 * (features if name == "C" else weights / parameter.shape[1] ** 0.5)
                parameter.uniform_(-bound, bound, generator=generator)
        self.b.copy_(bias)
        return self

    def features(self, context: Tensor) -> Tensor:
        """Features of the context words in order, (B, n-1, m), from ids (B, n-1)."""
        return nn.functional.embedding(context, self.C, sparse=self.sparse)

    def rows(self, table: Tensor, words: Tensor | None) -> Tensor:
        """What a table has for some words (K,), or for all words of the vocabulary."""
        if words is None:
            return table[: len(self.b)]  # C may hold more, of words that stand in contexts alone
        if table.dim() == 1:
            return table.gather(0, words, sparse_grad=self.sparse)
        return nn.functional.embedding(words, table, sparse=self.sparse)

    def output(self, z: Tensor, weight: Tensor, words: Tensor | None) -> Tensor:
        """y = b + weight z, (B, K), of some words (K,) or of all, from z (B, D) and a table weight (V, D)."""
        rows, biases = self.rows(weight, words), self.rows(self.b, words)
        if not (self.bfloat16 and self.training):
            return nn.functional.linear(z, rows, biases)
        more = -len(rows) % WIDTH
        filled = nn.functional.pad(rows, (0, 0, 0, more)), nn.functional.pad(biases, (0, more))
        with torch.autocast(z.device.type, torch.bfloat16):
            y = nn.functional.linear(z, *filled)
        return y[:, : len(rows)].to(z.dtype)


def contexts(ids: np.ndarray, before: np.ndarray, n: int, mark: int) -> np.ndarray:
    """The n-1 words before each token, the nearest last.

    ids: (T,) a split; before: the ids that precede it in the stream, of which the last n-1 are used; where they
    are too few, text marks stand in, as context only. Returns a view (T, n-1).
    """
    padding = np.full(n - 1, mark, dtype=ids.dtype)
    padded = np.concatenate([padding, before[-(n - 1) :], ids])[-(len(ids) + n - 1) :]
    return np.lib.stride_tricks.sliding_window_view(padded[:-1], n - 1)


def score(
    network: Network,
    context: np.ndarray,
    target: np.ndarray,
    progress: Callable[[int], object] = lambda words: None,
) -> np.ndarray:
    """Natural-log probability (T,) float32 of each target (T,) after its context (T, n-1), ids.

    network: from here on in evaluation mode; progress: called with the words done.
    """
    device = network.eval().b.device
    result = np.empty(len(target), dtype=np.float32)
    for start in range(0, len(target), BATCH):
        part = slice(start, start + BATCH)
        words = torch.from_numpy(context[part].astype(np.int64)).to(device)
        targets = torch.from_numpy(target[part].astype(np.int64)).to(device)
        result[part] = network.log_probabilities(words, targets).cpu().numpy()
        progress(len(targets))
    return result
