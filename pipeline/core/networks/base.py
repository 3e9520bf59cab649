"""The interface of a family of networks for training and scoring, and the code that all families share: the contexts of
a stream, exact scoring in batches. A family is a file of pipeline/core/families (registry.py)."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from pipeline.core.common.settings import ModelSettings

BATCH = 1024  # contexts scored at a time
# In bfloat16, the number of candidates is padded to a multiple of WIDTH: oneDNN compiles and caches code for each size.
# Without padding this takes a sixth of the time of MLP9's step, and 300 MB.
WIDTH = 64
ACTIVATIONS = {
    "tanh": torch.tanh,  # the paper's
    "relu": torch.relu,
    "gelu": nn.functional.gelu,
    "silu": nn.functional.silu,
    "sigmoid": torch.sigmoid,
}


class Dropout(nn.Module):
    """Dropout with one random byte per value, where torch.nn.Dropout draws a float: p in steps of 1/256.

    `python -m benchmarks by_hand` measures the gain.
    """

    p = 0.0  # probability that a training step drops a value

    def forward(self, x: Tensor) -> Tensor:
        """x in evaluation mode; in training x with the values to drop set to 0, and the others divided by 1 - p."""
        threshold = min(round(256 * self.p), 255)
        if not self.training or not threshold:
            return x
        random = torch.empty((x.numel() + 7) // 8, dtype=torch.int64, device=x.device).random_(-(2**63), None)
        keep_mask = random.view(torch.uint8)[: x.numel()].view_as(x) >= threshold
        return x * (keep_mask * (256 / (256 - threshold)))


class Network(nn.Module, ABC):
    """A network: word features C (V, m), output biases b (V,), and a `forward` that scores words after contexts.

    tables: names of the parameters with one row per word; with `sparse`, their gradients hold only the rows used.
    dropout: of the output layer's inputs, in training mode. bfloat16: whether the products of the output layer, and of
    deep layers, round to bfloat16 in training mode. rounded: whether `log_probabilities` rounds products of infrequent
    words to bfloat16 (softmax.py).
    """

    tables: tuple[str, ...]
    unbounded: ClassVar[bool] = False  # whether all words before are its context, so that n bounds training steps only
    in_order: ClassVar[bool] = False  # whether it reads a stream from its beginning, and carries a state (core/streams)
    in_pairs: ClassVar[bool] = False  # whether it scores pairs of a word and a context, each by itself
    options: ClassVar[tuple[str, ...]] = ()  # keys of conf/models.yaml that it has: of direct, indexed, activation
    deep_keys: ClassVar[tuple[str, ...]] = ()  # keys below `deep` in conf/models.yaml that it has
    C: nn.Parameter
    b: nn.Parameter

    def __init__(self, architecture: ModelSettings):
        """architecture: an entry of conf/models.yaml; n is the order: a context has n-1 words."""
        super().__init__()
        self.architecture = architecture
        self.dropout = Dropout()
        self.sparse = False
        self.bfloat16 = False
        self.rounded = False
        self.state: tuple[Tensor, ...] | None = None  # of streams, carried from a training step to the next

    @classmethod
    def check(cls, architecture: ModelSettings) -> None:
        """Raises InputError for an architecture that this family can't have."""

    @property
    def inputs(self) -> int:
        """Length of x, the features of the whole context: (n-1) m."""
        return (self.architecture.n - 1) * self.architecture.m

    @abstractmethod
    def forward(self, context: Tensor, words: Tensor | None = None) -> Tensor:
        """Scores y (B, K) of `words` (K,), or of all, after contexts (B, n-1); P is the softmax over all words."""

    @torch.no_grad()
    def log_probabilities(self, context: Tensor, target: Tensor, row_of: Tensor | None = None) -> Tensor:
        """Exact natural-log probability (T,) of each target (T,) after its context, a row of `context` (B, n-1).

        row_of: (T,) the row of each target; None: each row has one target, in this order. Correct for any family; most
        families override it with a faster method.
        """
        row_of = torch.arange(len(target), device=target.device) if row_of is None else row_of
        return self.distribution(context)[row_of, target]

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
        """Exact natural-log probability (T,) float32 of each token of a split, or only of those at `places` (T,).

        ids: a split; before: the words that precede it in the stream; mark: see contexts; places: rising; progress:
        called with the number of words done since the last call.
        """
        windows = contexts(ids, before, self.architecture.n, mark)
        if places is not None or self.in_pairs:  # a few blocks repeat few contexts, and of pairs each is computed
            selection = slice(None) if places is None else places
            return score(self, windows[selection], ids[selection], progress=progress)
        # Brown's validation has 43 % as many different contexts of two words as tokens, 94 % of four.
        different, row_of = np.unique(windows, axis=0, return_inverse=True)
        return score(self, different, ids, row_of, progress)

    def stretches(self, ids: np.ndarray, before: np.ndarray, mark: int, length: int) -> Iterator[Tensor]:
        """Scores y (L, V), with gradient, of each stretch of `length` tokens of a split, in order. See score."""
        windows = contexts(ids, before, self.architecture.n, mark)
        for start in range(0, len(ids), length):
            yield self(torch.from_numpy(windows[start : start + length].astype(np.int64)))

    def next(self, before: np.ndarray, mark: int) -> np.ndarray:
        """Natural-log probabilities (V,) of all words after the words `before`."""
        placeholder = np.zeros(1, dtype=np.int64)  # for the next word
        context = contexts(placeholder, before.astype(np.int64), self.architecture.n, mark)
        with torch.no_grad():
            return self.eval().distribution(torch.from_numpy(context.copy()))[0].numpy()

    def loss(
        self, context: Tensor, target: Tensor, words: Tensor | None = None, correction: Tensor | None = None
    ) -> Tensor:
        """Mean over the batch of log sum exp(y - correction) - y of the target, in nats.

        words: candidates (K,), rising, every target (B,) among them; correction: (K,), subtracted from their scores;
        both are the sampler's. None: the full softmax.
        """
        y = self(context, words)
        if words is None:
            return self.cross_entropy(y, target)
        column = torch.searchsorted(words, target)
        return self.cross_entropy(y.sub_(correction), column) - correction[column].mean()

    def cross_entropy(self, y: Tensor, column: Tensor) -> Tensor:
        """The mean loss () of scores y (B, K); column: (B,) of the targets."""
        return nn.functional.cross_entropy(y, column)

    @torch.no_grad()
    def initialise(self, features: float, weights: float, bias: Tensor, generator: torch.Generator) -> "Network":
        """Draws word features and weights, uniform as in NIPS 2000, and sets the output biases; other biases stay zero.

        features: standard deviation of C; weights: standard deviation of every other matrix, times the root of its
        fan-in; bias: (V,), for example the log unigram, so that training need not learn the frequencies first.
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
        """The rows of a table for `words` (K,), or for all words of the vocabulary."""
        if words is None:
            return table[: len(self.b)]  # C may have more: new words, in contexts only
        if table.dim() == 1:
            return table.gather(0, words, sparse_grad=self.sparse)
        return nn.functional.embedding(words, table, sparse=self.sparse)

    def output(self, z: Tensor, weight: Tensor, words: Tensor | None) -> Tensor:
        """y = b + weight z, (B, K), of `words` (K,), or of all, from z (B, D) and the table `weight` (V, D)."""
        rows, biases = self.rows(weight, words), self.rows(self.b, words)
        if not (self.bfloat16 and self.training):
            return nn.functional.linear(z, rows, biases)
        padding = -len(rows) % WIDTH
        padded_rows = nn.functional.pad(rows, (0, 0, 0, padding))
        padded_biases = nn.functional.pad(biases, (0, padding))
        with torch.autocast(z.device.type, torch.bfloat16):
            y = nn.functional.linear(z, padded_rows, padded_biases)
        return y[:, : len(rows)].to(z.dtype)


def contexts(ids: np.ndarray, before: np.ndarray, n: int, mark: int) -> np.ndarray:
    """The n-1 words before each token, the nearest last.

    ids: (T,) a split; before: the ids that precede it in the stream, of which the last n-1 are used; mark: id of the
    text mark, which fills the first contexts where there are fewer. Returns a view (T, n-1).
    """
    padding = np.full(n - 1, mark, dtype=ids.dtype)
    padded = np.concatenate([padding, before[-(n - 1) :], ids])[-(len(ids) + n - 1) :]
    return np.lib.stride_tricks.sliding_window_view(padded[:-1], n - 1)


def score(
    network: Network,
    context: np.ndarray,
    target: np.ndarray,
    row_of: np.ndarray | None = None,
    progress: Callable[[int], object] = lambda words: None,
) -> np.ndarray:
    """Natural-log probability (T,) float32 of each target (T,) after its context, a row of `context` (B, n-1), ids.

    network: is put into evaluation mode; row_of: (T,) the row of each target, so that a context is computed once for
    all its targets; None: each row has one target, in this order; progress: called with the number of words done since
    the last call.
    """
    device = network.eval().b.device
    result = np.empty(len(target), dtype=np.float32)
    row_of = np.arange(len(target)) if row_of is None else row_of
    order = np.argsort(row_of, kind="stable")
    row_in_order = row_of[order]
    for start in range(0, len(context), BATCH):
        first, end = np.searchsorted(row_in_order, [start, start + BATCH])
        tokens = order[first:end]
        batch = context[start : start + BATCH], target[tokens], row_of[tokens] - start
        tensors = (torch.from_numpy(part.astype(np.int64)).to(device) for part in batch)
        result[tokens] = network.log_probabilities(*tensors).cpu().numpy()
        progress(len(tokens))
    return result
