"""What the parts share: trainings as the table's stages make them, their clock, and processes of their own."""

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
from omegaconf import OmegaConf

from pipeline.core.common import evaluation
from pipeline.core.networks.base import Architecture, Network, build
from pipeline.core.training.trainer import Epoch, Progress, Recipe, Trainer
from pipeline.data.corpus import read_corpus
from pipeline.running.checkpoint import Forgetful


def recipe(name: str = "modern", **changes) -> Recipe:
    """One of conf/recipe, with changes."""
    return replace(Recipe(**OmegaConf.load(Path("conf/recipe", f"{name}.yaml"))), **changes)


def architecture(model: str) -> Architecture:
    """One of conf/model's networks."""
    return Architecture(**OmegaConf.load(Path("conf/model", f"{model}.yaml")))


@dataclass(frozen=True)
class Ids:
    """What training reads of a corpus."""

    train: np.ndarray
    valid: np.ndarray
    words: int  # of the vocabulary
    mark: int  # id of the text mark


def brown() -> Ids:
    """The preprocessed Brown corpus, as training reads it."""
    corpus = read_corpus("data/brown")
    return Ids(corpus.train, corpus.valid, len(corpus.vocabulary), corpus.mark)


def trainer(network: Architecture | Network, recipe: Recipe, corpus: Ids, seed: int = 0) -> Trainer:
    """A training on one thread of this process, of an architecture or of a network that is there."""
    torch.set_num_threads(1)
    if isinstance(network, Architecture):
        network = build(network, corpus.words)
    return Trainer(network, recipe, corpus.train, corpus.valid, corpus.mark, seed, "cpu", Forgetful())


def validation(trainer: Trainer, network: Network) -> float:
    """A network's perplexity on the trainer's stopping tokens, as early stopping sees it."""
    raw = network.score(trainer.valid, trainer.train, trainer.mark, trainer.stopping)
    target = trainer.valid[trainer.stopping]
    share = evaluation.fit_share(raw, target, trainer.unseen)
    return evaluation.perplexity(evaluation.apply_share(raw, target, trainer.unseen, share))


def clocked(trainer: Trainer, looks: int = 1, look: Callable[[float, int], object] = lambda seconds, words: None):
    """Trains to the end; returns the seconds that it took, evaluations left out.

    looks times an epoch `look` is told the seconds and the words so far.
    """
    marks = {trainer.batches.steps * each // looks for each in range(1, looks + 1)}
    seconds, words, start = 0.0, 0, time.perf_counter()

    def on_step(progress: Progress, new: int) -> None:
        nonlocal seconds, words, start
        words += new
        if progress.step in marks:
            seconds += time.perf_counter() - start
            look(seconds, words)
            start = time.perf_counter()

    def on_epoch(epoch: Epoch) -> None:
        nonlocal start  # the trainer's own evaluation is over
        start = time.perf_counter()

    trainer.run(on_step, on_epoch)
    return seconds


class EnoughError(Exception):
    """Ends a training whose time is known."""


def seconds_for(words: int, trainer: Trainer, warm: Callable[[], object] = lambda: None) -> float:
    """Seconds of so many words of training, after an eighth of them to warm up, when `warm` is called."""
    seen, start = 0, 0.0

    def on_step(progress: Progress, new: int) -> None:
        nonlocal seen, start
        seen += new
        if not start and seen >= words / 8:
            warm()
            seen, start = 0, time.perf_counter()
        elif seen >= words:
            raise EnoughError

    try:
        trainer.run(on_step)
    except EnoughError:
        return (time.perf_counter() - start) * words / seen
    raise ValueError(f"the training ends before {words} words")


def in_processes(function: Callable, arguments: list[tuple], at_once: int = 0) -> list:
    """Each call in a fresh process of its own, all at once or so many; each has its own threads and peak of memory."""
    with ProcessPoolExecutor(at_once or len(arguments), get_context("spawn"), max_tasks_per_child=1) as pool:
        return [future.result() for future in [pool.submit(function, *each) for each in arguments]]
