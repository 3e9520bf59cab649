"""Training a network: passes over the training part, a rate that falls, the best epoch kept."""

import math
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field

import numpy as np
import torch
from torch.optim.swa_utils import AveragedModel

from pipeline.core.common import evaluation
from pipeline.core.common.errors import InputError, Watcher
from pipeline.core.common.settings import RecipeSettings
from pipeline.core.networks.base import Network
from pipeline.core.training.batches import make_batches
from pipeline.core.training.optimiser import decay, make_optimisers, rate_at, update
from pipeline.core.training.products import by_onednn, has_bfloat16
from pipeline.core.training.sampling import make_sampler

BLOCKS, BLOCK = 20, 500  # blocks that early stopping reads: so many at least, of so many tokens at most
LOOK_STEPS = 64  # so often, at the next whole decay, the loss is looked at and a checkpoint may be written


@dataclass
class Epoch:
    """One line of the learning curve; perplexities over all tokens of what is named."""

    epoch: int
    rate: float  # at its end
    train_perplexity: float  # running, by the training softmax with dropout: a progress figure, nothing else
    valid_perplexity: float  # exact, where early stopping reads, with the share for unseen words if the recipe says so
    valid_tokens: int  # that early stopping reads


@dataclass
class Progress:
    """Where a training stands: all that a checkpoint holds beside tensors."""

    epoch: int = 0  # epochs finished
    step: int = 0  # steps done in the epoch under way
    loss: float = 0.0  # sum over the words of the epoch under way, brought up to date every few steps
    perplexity: float = 0.0  # of those words
    curve: list[dict] = field(default_factory=list)
    best: int = 0  # epoch whose weights are kept
    seconds: float = 0.0  # that the training took so far, evaluations with it, in all the processes that took it up


class Watch(Watcher):
    """What a training tells whoever runs it, and asks of it. Nothing here can change a bit."""

    def resume(self) -> dict | None:
        """The state that an earlier process of this very training saved last; None to begin."""

    def save(self, state: dict) -> None:
        """The state of the training, from which another process can go on: tensors and plain values."""

    def look(self, save: Callable[[], None]) -> None:
        """A moment in which the training may be saved, by calling `save`, and ended, by an exception."""

    def step(self, progress: "Progress", words: int) -> None:
        """An update was made, with so many words."""

    def epoch(self, epoch: Epoch) -> None:
        """A line of the learning curve."""


def stopping_places(tokens: int, wanted: int | None) -> np.ndarray:
    """The places of validation, of so many tokens, that early stopping reads: `wanted` of them, in blocks spread evenly
    over it; all where that would be half of them or more, or with None."""
    if wanted is None or tokens <= 2 * wanted:
        return np.arange(tokens)
    blocks = min(wanted, max(BLOCKS, wanted // BLOCK))
    length = wanted // blocks
    starts = np.linspace(0, tokens - length, blocks).astype(np.int64)
    return (starts[:, None] + np.arange(length)).ravel()


class Trainer:
    """One training, from start or checkpoint to the best epoch's weights."""

    def __init__(
        self,
        network: Network,
        recipe: RecipeSettings,
        train: np.ndarray,
        valid: np.ndarray,
        mark: int,
        seed: int,
        device: str,
        watch: Watch,
        features: np.ndarray | None = None,
    ):
        """network: its parameters are set here; recipe: conf/recipe; train, valid: ids of two splits; mark: id of the
        text mark, the context before the very first word; features: C (V, m) at the start, scaled to the recipe's
        deviation. Raises InputError where these do not fit together."""
        self.recipe, self.seed, self.watch = recipe, seed, watch
        self.device = torch.device(device)
        counts = np.bincount(train, minlength=len(network.C))
        self.sampler = make_sampler(recipe.sampling, counts, recipe.samples, recipe.power, self.device)
        unigram = np.log((counts + 1) / (counts + 1).sum())
        biases = torch.tensor(unigram if recipe.output_biases == "unigram" else 0 * unigram, dtype=torch.float32)
        start = torch.Generator().manual_seed(seed)
        self.network = network.initialise(recipe.features_std, recipe.weights_std, biases, start).to(self.device)
        if features is not None:
            self._start_from(torch.from_numpy(features).to(self.device))
        self.network.dropout.p = recipe.dropout
        self.network.sparse = not self.sampler.full
        self.network.bfloat16 = recipe.bfloat16 and has_bfloat16(self.device)
        self.network.C.requires_grad_(not recipe.frozen)
        self.optimisers = make_optimisers(self.network, recipe)  # as `sparse` and `frozen` say
        self.average: AveragedModel | None = None  # of the last weights, once `recipe.average` has begun
        self.best = self._copy()
        self.progress = Progress()
        self.since = time.perf_counter()
        self.batches = make_batches(network, recipe, train, mark, self.device)
        self.train, self.valid, self.mark = train, valid, mark
        self.stopping = stopping_places(len(valid), recipe.stopping_tokens)
        self.unseen = evaluation.unseen_words(train, len(counts))
        self.look_steps = math.ceil(LOOK_STEPS / recipe.decay_steps) * recipe.decay_steps
        if (state := watch.resume()) is not None:
            self._take_up(state)

    @torch.no_grad()
    def _start_from(self, features: torch.Tensor) -> None:
        if features.shape != self.network.C.shape:
            raise InputError(
                f"features of shape {tuple(features.shape)} for a network whose C is {tuple(self.network.C.shape)}: "
                "give those of the same vocabulary and model.m"
            )
        self.network.C.copy_(features * (self.recipe.features_std / features.std()))

    def run(self) -> Network:
        """Trains to the end and returns the network with the best epoch's weights.

        Raises InputError when the loss becomes NaN or infinite.
        """
        self.watch.begin(self.batches.words * self.recipe.epochs, done=self.words)
        while self.progress.epoch < self.recipe.epochs and not self._patience_lost():
            self.watch.epoch(self._epoch())
        self.network.load_state_dict(self.best)
        return self.network

    @property
    def _on_gpu(self) -> bool:
        return self.device.type == "cuda"

    @property
    def _judged(self) -> Network:
        """The network that an epoch ends with: that of the averaged weights where there are some."""
        return self.network if self.average is None else self.average.module

    def _copy(self) -> dict[str, torch.Tensor]:
        return {name: tensor.clone() for name, tensor in self._judged.state_dict().items()}

    def _take_into_average(self) -> None:
        """Counts these weights among the last ones, if the time has come (Polyak and Juditsky 1992)."""
        every = self.recipe.epochs * self.batches.steps
        if self.recipe.average and self._done() > (1 - self.recipe.average) * every:
            if self.average is None:
                self.average = AveragedModel(self.network)
            self.average.update_parameters(self.network)

    def _patience_lost(self) -> bool:
        return self.progress.epoch - self.progress.best >= self.recipe.patience

    def _epoch(self) -> Epoch:
        """Goes through the training part once, from where the epoch stands."""
        progress, recipe = self.progress, self.recipe
        random = np.random.default_rng([self.seed, progress.epoch])
        self.batches.shuffle(random)
        if progress.step == 0:
            torch.manual_seed(int(random.integers(2**63)))  # of candidates and dropout
            self.network.state = None
        pending = torch.zeros((), dtype=torch.float64, device=self.device)
        undecayed, visited = 0, []  # words and contexts since the last weight decay: none where a checkpoint is written
        steps = self.batches.steps
        while progress.step < steps:
            context, target = self.batches.step(progress.step)
            pending += self._step(context, target) * len(target)
            progress.step += 1
            undecayed += len(target)
            visited.append(context)
            if progress.step % recipe.decay_steps == 0 or progress.step == steps:
                if recipe.weight_decay:
                    decay(self.network, recipe, self._rate(), undecayed, visited)
                undecayed, visited = 0, []
                self._take_into_average()
            self.watch.step(progress, len(target))
            if progress.step % self.look_steps == 0 or progress.step == steps:
                done = self.batches.done(progress.step)
                progress.loss = self._checked(progress.loss + float(pending), done)
                progress.perplexity = math.exp(progress.loss / done)
                pending.zero_()
                self.watch.look(self.save)
        epoch = self._close_epoch()
        self.save()
        return epoch

    @property
    def words(self) -> int:
        """The words trained so far, of all epochs."""
        return self.progress.epoch * self.batches.words + self.batches.done(self.progress.step)

    def _rate(self) -> float:
        return rate_at(self.recipe, self._done(), self.recipe.epochs * self.batches.steps)

    def _done(self) -> int:
        return self.progress.epoch * self.batches.steps + self.progress.step

    def _step(self, context: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """One update on these targets (B,) of the training part; returns the mean loss."""
        self.network.train()
        with by_onednn() if self.sampler.full else nullcontext():
            loss = self.network.loss(context, target, *self.sampler.draw(target))
            loss.backward()
        update(self.optimisers, self._rate(), len(target))
        return loss.detach()

    def _checked(self, loss: float, words: int) -> float:
        """A loss summed over so many words, if it is a number that exp can take (NaN is not below anything)."""
        if not loss < 700 * words:
            step = self._done()
            rate = rate_at(self.recipe, step - 1, self.recipe.epochs * self.batches.steps)
            raise InputError(
                f"the loss is {loss / words:g} a word by step {step} (epoch {self.progress.epoch + 1}) at rate "
                f"{rate:.3g}: lower recipe.rate, now {self.recipe.rate:g}"
            )
        return loss

    def _close_epoch(self) -> Epoch:
        """Evaluates, notes the line of the curve, and keeps the weights if they are the best so far."""
        progress = self.progress
        rate = self._rate()
        raw, target = self._judged.score(self.valid, self.train, self.mark, self.stopping), self.valid[self.stopping]
        self._checked(float(-raw.sum(dtype=np.float64)), len(raw))
        share = evaluation.fit_share(raw, target, self.unseen) if self.recipe.stopping_share else 0.0
        treated = evaluation.apply_share(raw, target, self.unseen, share)
        epoch = Epoch(
            epoch=progress.epoch + 1,
            rate=rate,
            train_perplexity=progress.perplexity,
            valid_perplexity=evaluation.perplexity(treated),
            valid_tokens=len(target),
        )
        if all(epoch.valid_perplexity < earlier["valid_perplexity"] for earlier in progress.curve):
            progress.best = epoch.epoch
            self.best = self._copy()
        progress.curve.append(asdict(epoch))
        progress.epoch, progress.step, progress.loss, progress.perplexity = epoch.epoch, 0, 0.0, 0.0
        return epoch

    def save(self) -> None:
        """Hands out the state: parameters, best parameters, optimisers, random numbers, progress."""
        now = time.perf_counter()
        self.progress.seconds, self.since = self.progress.seconds + now - self.since, now
        self.watch.save(
            {
                "network": self.network.state_dict(),
                "state": self.network.state,
                "average": self.average and self.average.state_dict(),
                "best": self.best,
                "optimisers": [optimiser.state_dict() for optimiser in self.optimisers],
                "random": torch.cuda.get_rng_state(self.device) if self._on_gpu else torch.get_rng_state(),
                "progress": asdict(self.progress),
            }
        )

    def _take_up(self, saved: dict) -> None:
        """Goes on from a state that `save` handed out. Raises InputError where that was of another training."""
        try:
            self._load(saved)
        except (KeyError, RuntimeError, TypeError, ValueError) as error:  # torch's of shapes, and of what is missing
            reason = str(error).split("\n")[0]
            raise InputError(
                f"the state to go on from is of another training, or damaged ({reason}): remove it"
            ) from error

    def _load(self, saved: dict) -> None:
        self.network.load_state_dict(saved["network"])
        self.network.state = saved["state"] and tuple(part.to(self.device) for part in saved["state"])
        if saved["average"]:
            self.average = AveragedModel(self.network)
            self.average.load_state_dict(saved["average"])
        self.best = saved["best"]
        for optimiser, state in zip(self.optimisers, saved["optimisers"], strict=True):
            optimiser.load_state_dict(state)
        if self._on_gpu:
            torch.cuda.set_rng_state(saved["random"], self.device)
        else:
            torch.set_rng_state(saved["random"])
        self.progress = Progress(**saved["progress"])
