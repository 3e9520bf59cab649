"""Training a network: epochs over the training part, a learning-rate schedule, early stopping at the best epoch."""

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
from pipeline.core.training.optimiser import decay, make_optimiser, rate_at
from pipeline.core.training.products import by_onednn, has_bfloat16
from pipeline.core.training.sampling import make_sampler

BLOCKS, BLOCK = 20, 500  # early stopping reads blocks of some BLOCK tokens, but BLOCKS of them at least
CHECK_EVERY = 64  # steps between checks of the loss, where a checkpoint may be written; rounded up to whole decays


@dataclass
class Epoch:
    """One line of the learning curve."""

    epoch: int
    rate: float  # at the end of the epoch
    train_perplexity: float  # summed up over the epoch, by the training softmax with dropout: only shows progress
    valid_perplexity: float  # exact, over valid_tokens; with recipe.stopping_corrected corrected for unseen words
    valid_tokens: int  # tokens that early stopping reads


@dataclass
class Progress:
    """The progress of a training: the content of a checkpoint beside tensors."""

    epoch: int = 0  # epochs finished
    step: int = 0  # steps done in the current epoch
    loss: float = 0.0  # sum over the words of the current epoch, in nats; updated every few steps
    perplexity: float = 0.0  # of these words
    curve: list[dict] = field(default_factory=list)  # an Epoch for each finished epoch
    best: int = 0  # the best epoch so far
    seconds: float = 0.0  # training time so far with evaluations, over all processes that resumed it


class Watch(Watcher):
    """The interface between a training and its caller. No method can change a bit of the result."""

    def resume(self) -> dict | None:
        """The last state that an earlier process of the same training saved; None to start from the beginning."""

    def save(self, state: dict) -> None:
        """Saves the state of the training, from which another process can resume: tensors and plain values."""

    def look(self, save: Callable[[], None]) -> None:
        """The training can be saved here: the watch may call `save`, and may end the training by an exception."""

    def step(self, progress: "Progress", words: int) -> None:
        """One training step is done, on `words` words."""

    def epoch(self, epoch: Epoch) -> None:
        """A line of the learning curve."""


def stopping_places(tokens: int, amount: int | None) -> np.ndarray:
    """The places of validation that early stopping reads: about `amount` of its `tokens`, in evenly spaced blocks. All
    places if `amount` is None, or at least half of `tokens`."""
    if amount is None or tokens <= 2 * amount:
        return np.arange(tokens)
    blocks = min(amount, max(BLOCKS, amount // BLOCK))
    length = amount // blocks
    starts = np.linspace(0, tokens - length, blocks).astype(np.int64)
    return (starts[:, None] + np.arange(length)).ravel()


class Trainer:
    """One training, from the start or a checkpoint to the weights of the best epoch."""

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
        """network: its parameters are initialised here; recipe: conf/recipe; train, valid: ids of these splits; mark:
        id of the text mark, the context before the first word; features: initial C (V, m), scaled to the standard
        deviation recipe.features_std. Raises InputError where these do not fit together."""
        self.recipe, self.seed, self.watch = recipe, seed, watch
        self.device = torch.device(device)
        counts = np.bincount(train, minlength=len(network.C))
        self.sampler = make_sampler(recipe.sampling, counts, recipe.samples, recipe.power, self.device)
        unigram = np.log((counts + 1) / (counts + 1).sum())
        biases = torch.tensor(unigram if recipe.output_biases == "unigram" else 0 * unigram, dtype=torch.float32)
        generator = torch.Generator().manual_seed(seed)
        self.network = network.initialise(recipe.features_std, recipe.weights_std, biases, generator).to(self.device)
        if features is not None:
            self._start_from(torch.from_numpy(features).to(self.device))
        self.network.dropout.p = recipe.dropout
        self.network.sparse = not self.sampler.full
        self.network.bfloat16 = recipe.bfloat16 and has_bfloat16(self.device)
        self.network.C.requires_grad_(not recipe.frozen)
        self.optimiser = make_optimiser(self.network, recipe)  # after `sparse` and `frozen` are set
        self.average: AveragedModel | None = None  # of the last weights; see _take_into_average
        self.best = self._copy()
        self.progress = Progress()
        self.last_saved = time.perf_counter()
        self.batches = make_batches(network, recipe, train, mark, self.device)
        self.train, self.valid, self.mark = train, valid, mark
        self.stopping_indices = stopping_places(len(valid), recipe.stopping_tokens)
        self.unseen = evaluation.unseen_words(train, len(counts))
        self.check_every = math.ceil(CHECK_EVERY / recipe.decay_steps) * recipe.decay_steps
        if (state := watch.resume()) is not None:
            self._resume(state)

    @torch.no_grad()
    def _start_from(self, features: torch.Tensor) -> None:
        if features.shape != self.network.C.shape:
            raise InputError(
                f"features of shape {tuple(features.shape)} for a network whose C is {tuple(self.network.C.shape)}: "
                "give those of the same vocabulary and model.m"
            )
        self.network.C.copy_(features * (self.recipe.features_std / features.std()))

    def run(self) -> Network:
        """Trains to the end and returns the network with the weights of the best epoch.

        Raises InputError when the loss becomes NaN or infinite.
        """
        self.watch.begin(self.batches.words * self.recipe.epochs, done=self.words_trained)
        while self.progress.epoch < self.recipe.epochs and not self._patience_lost():
            self.watch.epoch(self._epoch())
        self.network.load_state_dict(self.best)
        return self.network

    @property
    def _on_gpu(self) -> bool:
        return self.device.type == "cuda"

    @property
    def _evaluated(self) -> Network:
        """The network that is evaluated at the end of an epoch: with averaged weights, once the average has begun."""
        return self.network if self.average is None else self.average.module

    def _copy(self) -> dict[str, torch.Tensor]:
        return {name: tensor.clone() for name, tensor in self._evaluated.state_dict().items()}

    def _take_into_average(self) -> None:
        """Adds the current weights to the average, in the last share `recipe.average` of all steps (Polyak and Juditsky
        1992). Called after each weight decay, not after each step."""
        steps = self.recipe.epochs * self.batches.steps
        if self.recipe.average and self._steps_done() > (1 - self.recipe.average) * steps:
            if self.average is None:
                self.average = AveragedModel(self.network)
            self.average.update_parameters(self.network)

    def _patience_lost(self) -> bool:
        return self.progress.epoch - self.progress.best >= self.recipe.patience

    def _epoch(self) -> Epoch:
        """Trains to the end of the current epoch, from progress.step on, and evaluates."""
        progress, recipe = self.progress, self.recipe
        random = np.random.default_rng([self.seed, progress.epoch])
        self.batches.shuffle(random)
        if progress.step == 0:
            torch.manual_seed(int(random.integers(2**63)))  # for candidates and dropout
            self.network.state = None
        pending = torch.zeros((), dtype=torch.float64, device=self.device)
        # Since the last weight decay. Checkpoints fall on decays, so there both are empty.
        undecayed_words, undecayed_contexts = 0, []
        steps = self.batches.steps
        while progress.step < steps:
            context, target = self.batches.step(progress.step)
            pending += self._step(context, target) * len(target)
            progress.step += 1
            undecayed_words += len(target)
            undecayed_contexts.append(context)
            if progress.step % recipe.decay_steps == 0 or progress.step == steps:
                if recipe.weight_decay:
                    decay(self.network, recipe, self._rate(), undecayed_words, undecayed_contexts)
                undecayed_words, undecayed_contexts = 0, []
                self._take_into_average()
            self.watch.step(progress, len(target))
            if progress.step % self.check_every == 0 or progress.step == steps:
                words_done = self.batches.words_in(progress.step)
                progress.loss = self._checked(progress.loss + float(pending), words_done)
                progress.perplexity = math.exp(progress.loss / words_done)
                pending.zero_()
                self.watch.look(self.save)
        epoch = self._close_epoch()
        self.save()
        return epoch

    @property
    def words_trained(self) -> int:
        """The number of words trained so far, over all epochs."""
        return self.progress.epoch * self.batches.words + self.batches.words_in(self.progress.step)

    def _rate(self) -> float:
        """recipe.rate by its schedule, at the current step."""
        return rate_at(self.recipe, self._steps_done(), self.recipe.epochs * self.batches.steps)

    def _steps_done(self) -> int:
        """The number of steps done, over all epochs."""
        return self.progress.epoch * self.batches.steps + self.progress.step

    def _step(self, context: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """One update on these targets (B,) of the training part; returns the mean loss."""
        self.network.train()
        with by_onednn() if self.sampler.full else nullcontext():
            candidates, log_inclusion = self.sampler.draw(target)
            loss = self.network.loss(context, target, candidates, log_inclusion)
            loss.backward()
        self.optimiser.step(self._rate(), len(target))
        return loss.detach()

    def _checked(self, loss: float, words: int) -> float:
        """Returns `loss`, a sum over `words` words. Raises InputError if it is NaN or its perplexity would overflow."""
        if not loss < 700 * words:  # false for NaN too
            step = self._steps_done()
            rate = rate_at(self.recipe, step - 1, self.recipe.epochs * self.batches.steps)
            raise InputError(
                f"the loss is {loss / words:g} a word by step {step} (epoch {self.progress.epoch + 1}) at rate "
                f"{rate:.3g}: lower recipe.rate, now {self.recipe.rate:g}"
            )
        return loss

    def _close_epoch(self) -> Epoch:
        """Evaluates, adds a line to the curve, and copies the weights if they are the best so far."""
        progress = self.progress
        rate = self._rate()
        raw = self._evaluated.score(self.valid, self.train, self.mark, self.stopping_indices)
        target = self.valid[self.stopping_indices]
        self._checked(float(-raw.sum(dtype=np.float64)), len(raw))
        correction = evaluation.fit_correction(raw, target, self.unseen) if self.recipe.stopping_corrected else 0.0
        log_p = evaluation.apply_correction(raw, target, self.unseen, correction)
        epoch = Epoch(
            epoch=progress.epoch + 1,
            rate=rate,
            train_perplexity=progress.perplexity,
            valid_perplexity=evaluation.perplexity(log_p),
            valid_tokens=len(target),
        )
        if all(epoch.valid_perplexity < earlier["valid_perplexity"] for earlier in progress.curve):
            progress.best = epoch.epoch
            self.best = self._copy()
        progress.curve.append(asdict(epoch))
        progress.epoch, progress.step, progress.loss, progress.perplexity = epoch.epoch, 0, 0.0, 0.0
        return epoch

    def save(self) -> None:
        """Passes the state to watch.save: parameters, best parameters, Adam's moments, random numbers, progress."""
        now = time.perf_counter()
        self.progress.seconds += now - self.last_saved
        self.last_saved = now
        self.watch.save(
            {
                "network": self.network.state_dict(),
                "state": self.network.state,
                "average": self.average and self.average.state_dict(),
                "best": self.best,
                "moments": [tuple(moments) for moments in self.optimiser.moments],
                "random": torch.cuda.get_rng_state(self.device) if self._on_gpu else torch.get_rng_state(),
                "progress": asdict(self.progress),
            }
        )

    def _resume(self, saved: dict) -> None:
        """Resumes from a state of `save`. Raises InputError where the state is of another training."""
        try:
            self._load(saved)
        except (KeyError, RuntimeError, TypeError, ValueError) as error:  # torch's, for shapes and missing keys
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
        for moments, saved_moments in zip(self.optimiser.moments, saved["moments"], strict=True):
            for tensor, saved_tensor in zip(moments, saved_moments, strict=True):
                tensor.copy_(saved_tensor)
        if self._on_gpu:
            torch.cuda.set_rng_state(saved["random"], self.device)
        else:
            torch.set_rng_state(saved["random"])
        self.progress = Progress(**saved["progress"])
