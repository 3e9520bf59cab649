"""The batches of training steps: words at random places with their contexts, or several streams read in order."""

import math
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from pipeline.core.common.errors import InputError
from pipeline.core.common.settings import RecipeSettings
from pipeline.core.networks.base import Network


class Batches(Protocol):
    """The steps of an epoch."""

    words: int  # per epoch
    steps: int  # per epoch

    def shuffle(self, random: np.random.Generator) -> None:
        """Begins an epoch, in a new random order."""

    def step(self, number: int) -> tuple[Tensor, Tensor]:
        """The inputs of the network, and the targets (B,)."""

    def words_in(self, steps: int) -> int:
        """The number of words in the first `steps` steps of an epoch."""


class Windows:
    """Each word of training once, with its n-1 words of context: in random order, or in that of the text."""

    def __init__(self, ids: np.ndarray, mark: int, n: int, batch: int, device: torch.device, order: str):
        stream = np.concatenate([np.full(n - 1, mark, dtype=ids.dtype), ids])
        self.windows = torch.from_numpy(stream).to(device).unfold(0, n, 1)  # (T, n), a view: context and target
        self.batch, self.words, self.order = batch, len(ids), order
        self.steps = math.ceil(self.words / batch)

    def shuffle(self, random: np.random.Generator) -> None:
        """See Batches."""
        places = random.permutation(self.words) if self.order == "random" else np.arange(self.words)
        self.places = torch.from_numpy(places).to(self.windows.device)

    def step(self, number: int) -> tuple[Tensor, Tensor]:
        """Contexts (B, n-1) and targets (B,)."""
        return self.at(self.places[number * self.batch : (number + 1) * self.batch])

    def at(self, places: Tensor) -> tuple[Tensor, Tensor]:
        """Contexts (B, n-1) and targets (B,) at these places (B,) of training."""
        window = self.windows[places].long()
        return window[:, :-1], window[:, -1].contiguous()

    def words_in(self, steps: int) -> int:
        """See Batches."""
        return min(steps * self.batch, self.words)


class Streams:
    """The training part cut into streams of equal length, which are read in parallel; a step has n-1 words of each.

    Each epoch draws the place where the first stream begins, and the text wraps around: so the boundaries of steps and
    streams differ between epochs. The words left over, fewer than there are streams, differ too.
    """

    def __init__(self, ids: np.ndarray, mark: int, n: int, batch: int, device: torch.device):
        self.streams, self.length = batch // (n - 1), n - 1
        if not self.streams or batch % self.length:
            raise InputError(
                f"recipe.batch={batch}: a step reads model.n-1 = {n - 1} words of each stream: give a multiple"
            )
        if self.streams > len(ids):
            raise InputError(
                f"recipe.batch={batch}: {self.streams} streams of {len(ids)} words of training: lower it, to "
                f"{len(ids)} times model.n-1 at most"
            )
        self.ids, self.device = ids, device
        self.before = np.concatenate([[mark], ids[:-1]]).astype(ids.dtype)
        self.stream_length = len(ids) // self.streams
        self.words = self.stream_length * self.streams
        self.steps = math.ceil(self.stream_length / self.length)

    def shuffle(self, random: np.random.Generator) -> None:
        """See Batches."""
        start = int(random.integers(len(self.ids)))
        shape = self.streams, self.stream_length
        self.context, self.target = (
            torch.from_numpy(np.roll(stream, -start)[: self.words].reshape(shape)).to(self.device)
            for stream in (self.before, self.ids)
        )

    def step(self, number: int) -> tuple[Tensor, Tensor]:
        """Words (S, n-1) of the streams, and the words after them (S (n-1),)."""
        part = slice(number * self.length, (number + 1) * self.length)
        return self.context[:, part].long(), self.target[:, part].long().flatten()

    def words_in(self, steps: int) -> int:
        """See Batches."""
        return self.streams * min(steps * self.length, self.stream_length)


def make_batches(network: Network, recipe: RecipeSettings, ids: np.ndarray, mark: int, device: torch.device) -> Batches:
    """The batches for a network. recipe: conf/recipe; ids: of training; mark: id of the text mark, the context before
    the first word."""
    n, batch = network.architecture.n, recipe.batch
    if network.in_order:
        return Streams(ids=ids, mark=mark, n=n, batch=batch, device=device)
    return Windows(ids=ids, mark=mark, n=n, batch=batch, device=device, order=recipe.order)
