"""Families that read a stream word by word and carry a state from each word to the next, so that their context is not
bounded by a number of words.

In training, several streams are read in parallel, and a step has n-1 words of each: the gradient reaches back to the
step's first word, the state further (truncated back-propagation through time; Mikolov and others 2010). Scoring reads a
split in order, starting from the state after the last words before the split.
"""

from abc import abstractmethod
from collections import defaultdict, deque
from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor, nn

from pipeline.core.networks import base
from pipeline.core.networks.softmax import log_probabilities

WARM = 1000  # words that are read before the first scored word, for the state
CHUNK = 64  # words of each stream read at a time in scoring
SIDE_BY_SIDE = 16  # pieces of a split that are read in parallel

State = tuple[Tensor, ...]  # each (S, ...), of S streams


class Locked(nn.Module):
    """Dropout of x (S, L, D) with the same mask at all words of a stream (Gal and Ghahramani 2016)."""

    def __init__(self, p: float = 0.0):
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """x (S, L, D), in training with some features of each stream dropped."""
        return nn.functional.dropout1d(x.mT, self.p, self.training).mT


class StreamNetwork(base.Network):
    """A network whose `read` goes through streams in order. y = b + W z, with W (V, D) from `output_weight`."""

    in_order = True

    @abstractmethod
    def read(self, words: Tensor, state: State | None) -> tuple[Tensor, State]:
        """z (S, L, D) after each word of streams (S, L), ids, and the state after the last words."""

    @property
    @abstractmethod
    def output_weight(self) -> Tensor:
        """The output layer's weights (V, D)."""

    def forward(self, context: Tensor, words: Tensor | None = None) -> Tensor:
        """y (S L, K) of `words` (K,), or of all, after each word of streams (S, L).

        In training mode the streams continue from the last call.
        """
        z, state = self.read(context, self.state if self.training else None)
        if self.training:
            self.state = tuple(part.detach() for part in state)
        return self.output(self.dropout(z).flatten(0, 1), self.output_weight, words)

    @torch.no_grad()
    def log_probabilities(self, context: Tensor, target: Tensor) -> Tensor:
        """Exact natural-log probability (S L,) of each target (S L,) after each word of new streams (S, L)."""
        z, _ = self.eval().read(context, None)
        return log_probabilities(z.flatten(0, 1), self.output_weight, self.b, target, self.rounded)

    @torch.no_grad()
    def score(
        self,
        ids: np.ndarray,
        before: np.ndarray,
        mark: int,
        places: np.ndarray | None = None,
        progress: Callable[[int], object] = lambda words: None,
    ) -> np.ndarray:
        """See base.Network. A long split is read in several pieces in parallel, for speed. Each piece is read from WARM
        words before it; earlier words have no effect."""
        stream = _stream(ids, before, mark)
        shift = len(stream) - len(ids)  # place 0 of the split in the stream
        places = np.arange(len(ids)) if places is None else places
        pieces = defaultdict(list)  # to read in parallel: by their length, and the number of words before them
        for run in np.split(places, np.flatnonzero(np.diff(places) > 1) + 1):
            for piece in np.array_split(run, SIDE_BY_SIDE if len(run) >= SIDE_BY_SIDE * WARM else 1):
                pieces[len(piece), min(WARM, shift + piece[0])].append(piece)
        result = np.empty(len(ids), dtype=np.float32)
        for (length, warm), group in pieces.items():
            words = stream[np.array([[shift + piece[0]] for piece in group]) + np.arange(-warm, length)]
            _, state = self.after(words[:, : warm - 1])
            for z, _, start in self.outputs(words[:, warm - 1 : -1], state):
                part = slice(start, start + z.shape[1])
                target = torch.from_numpy(words[:, warm:][:, part].copy()).to(z.device)
                states = z.flatten(0, 1)
                scored = log_probabilities(states, self.output_weight, self.b, target.flatten(), self.rounded)
                result[np.array(group)[:, part]] = scored.view_as(target).cpu().numpy()
                progress(target.numel())
        return result[places]

    @torch.no_grad()
    def states(self, ids: np.ndarray, before: np.ndarray, mark: int) -> Tensor:
        """z (T, D) from which each token of a split is predicted; the split is read in order."""
        words, state = self.opened(ids, before, mark)
        return torch.cat([z[0] for z, *_ in self.outputs(words[:, :-1], state)])

    def stretches(self, ids: np.ndarray, before: np.ndarray, mark: int, length: int) -> Iterator[Tensor]:
        """See base.Network; the state is carried from stretch to stretch, the gradient is not."""
        words, state = self.opened(ids, before, mark)
        for start in range(0, len(ids), length):
            z, state = self.read(torch.from_numpy(words[:, :-1][:, start : start + length]), state)
            state = tuple(part.detach() for part in state)
            yield self.output(z[0], self.output_weight, None)

    def opened(self, ids: np.ndarray, before: np.ndarray, mark: int) -> tuple[np.ndarray, State | None]:
        """A split with the word before it, (1, 1 + T), and the state after the WARM words before that word."""
        stream = _stream(ids, before, mark)[None]
        first = stream.shape[1] - len(ids) - 1
        _, state = self.after(stream[:, :first])
        return stream[:, first:], state

    @torch.no_grad()
    def outputs(self, words: np.ndarray, state: State | None) -> Iterator[tuple[Tensor, State, int]]:
        """Reads CHUNK words of streams (S, T) at a time: z (S, L, D) after each word, the state after the last, and the
        place of the first."""
        for start in range(0, words.shape[1], CHUNK):
            chunk = torch.from_numpy(words[:, start : start + CHUNK].copy()).to(self.b.device)
            z, state = self.eval().read(chunk, state)
            yield z, state, start

    @torch.no_grad()
    def after(self, words: np.ndarray, state: State | None = None) -> tuple[Tensor | None, State | None]:
        """z (S, D) and the state after the last word of streams (S, T); for T = 0, None and `state`."""
        last = deque(self.outputs(words, state), maxlen=1)
        return (last[0][0][:, -1], last[0][1]) if last else (None, state)

    @torch.no_grad()
    def next(self, before: np.ndarray, mark: int) -> np.ndarray:
        """See base.Network."""
        z, _ = self.after(_stream(before[:0], before, mark)[None])
        return torch.log_softmax(nn.functional.linear(z[0], self.output_weight, self.b), 0).cpu().numpy()


def _stream(ids: np.ndarray, before: np.ndarray, mark: int) -> np.ndarray:
    """A text mark, the last words before a split, and the split: ids (1 + at most WARM + T,)."""
    return np.concatenate([[mark], before[-WARM:], ids]).astype(np.int64)
