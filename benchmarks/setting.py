"""What the parts share: trainings as the table's stages make them, their clock, and processes of their own."""

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np
import torch
from omegaconf import OmegaConf

from pipeline.config import groups
from pipeline.config.network import Architecture
from pipeline.config.recipe import Recipe
from pipeline.core.networks.base import Network
from pipeline.core.networks.registry import build
from pipeline.core.training.trainer import Epoch, Progress, Trainer, Watch
from pipeline.data.corpus import read_corpus


def recipe(name: str = "modern", **changes) -> Recipe:
    """One of conf/recipe, with changes."""
    return Recipe.model_validate(_composed(f"recipe={name}")["recipe"] | changes)


def architecture(model: str) -> Architecture:
    """One of conf/models.yaml's networks."""
    return Architecture.model_validate(_composed(f"model={model}")["model"])


def _composed(choice: str) -> dict:
    """conf/train.yaml with this choice."""
    return OmegaConf.to_container(groups.compose("train", [choice]))


@dataclass(frozen=True)
class Ids:
    """What training reads of a corpus."""

    train: np.ndarray
    valid: np.ndarray
    words: int  # of the vocabulary
    mark: int  # id of the text mark


def ids(data: str = "data/brown") -> Ids:
    """A preprocessed corpus, as training reads it."""
    corpus = read_corpus(data)
    return Ids(corpus.train, corpus.valid, len(corpus.vocabulary), corpus.mark)


def trainer(network: Architecture | Network, recipe: Recipe, corpus: Ids, seed: int = 0) -> Trainer:
    """A training on one thread of this process, of an architecture or of a network that is there."""
    torch.set_num_threads(1)
    if isinstance(network, Architecture):
        network = build(network, corpus.words)
    return Trainer(network, recipe, corpus.train, corpus.valid, corpus.mark, seed, "cpu", Watch())


class Clock(Watch):
    """The seconds of a training, evaluations left out."""

    def __init__(self):
        self.seconds, self.start = 0.0, time.perf_counter()
        self.steps: list[float] = []  # when each ended

    def step(self, progress: Progress, words: int) -> None:
        """See Watch."""
        now = time.perf_counter()
        self.seconds, self.start = self.seconds + now - self.start, now
        self.steps.append(now)

    def epoch(self, epoch: Epoch) -> None:
        """See Watch: the trainer's own evaluation is over."""
        self.start = time.perf_counter()


def clocked(trainer: Trainer) -> float:
    """Trains to the end; returns the seconds that it took, evaluations left out."""
    trainer.watch = Clock()
    trainer.run()
    return trainer.watch.seconds


class EnoughError(Exception):
    """Ends a training whose time is known."""


def seconds_for(words: int, trainer: Trainer, warm: Callable[[], object] = lambda: None) -> float:
    """Seconds of so many words of training, after an eighth of them to warm up, when `warm` is called."""

    class Timer(Watch):
        seen, start = 0, 0.0

        def step(self, progress: Progress, new: int) -> None:
            self.seen += new
            if not self.start and self.seen >= words / 8:
                warm()
                self.seen, self.start = 0, time.perf_counter()
            elif self.seen >= words:
                raise EnoughError

    trainer.watch = timer = Timer()
    try:
        trainer.run()
    except EnoughError:
        return (time.perf_counter() - timer.start) * words / timer.seen
    raise ValueError(f"the training ends before {words} words")


def in_processes(function: Callable, arguments: list[tuple], at_once: int = 0) -> list:
    """Each call in a fresh process of its own, all at once or so many; each has its own threads and peak of memory."""
    with ProcessPoolExecutor(at_once or len(arguments), get_context("spawn"), max_tasks_per_child=1) as pool:
        return [future.result() for future in [pool.submit(function, *each) for each in arguments]]
