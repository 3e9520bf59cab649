"""One training: from ids and the settings of a network to weights, learning curve and log-probabilities."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module

import numpy as np
import torch

from pipeline.core.common.settings import ModelSettings, RecipeSettings
from pipeline.core.common.stream import before
from pipeline.core.networks import registry
from pipeline.core.networks.base import Network
from pipeline.core.training.trainer import Progress, Trainer, Watch


@dataclass(frozen=True)
class Trained:
    """What a training leaves."""

    weights: dict[str, torch.Tensor]  # of the best epoch
    scored: dict[str, np.ndarray]  # exact log P (T,) float32 of every token of a split
    progress: Progress  # with the learning curve


def train(
    ids: Mapping[str, np.ndarray],
    vocabulary: int,
    mark: int,
    model: ModelSettings,
    recipe: RecipeSettings,
    seed: int,
    device: str,
    parallel: str,
    splits: Sequence[str],
    watch: Watch,
    features: np.ndarray | None = None,
) -> Trained:
    """Trains on ids["train"] with early stopping on ids["valid"], and scores some splits.

    ids: of train, valid and test, one stream in this order; vocabulary: words, V; mark: id of the text mark; model,
    recipe: conf/models.yaml and conf/recipe; parallel: none, threads (as many as there are cores), or one of
    pipeline.core.parallel's ways to train on the processes of a group; splits: those that are scored; features:
    C (V, m) at the start. Raises InputError where settings and data do not fit, or the loss is no number.
    """
    # A training uses one thread unless more are asked for: what is summed in which order decides bits.
    torch.set_num_threads(cores() if parallel == "threads" else 1)
    if device.startswith("cuda"):  # sums over repeated words in one order, at some cost in speed
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True)
    network = _network(model, vocabulary, parallel)
    trainer = Trainer(network, recipe, ids["train"], ids["valid"], mark, seed, device, watch, features)
    network = trainer.run()
    watch.begin(sum(len(ids[split]) for split in splits), "scoring")
    scored = {split: network.score(ids[split], before(ids, split), mark, progress=watch.advance) for split in splits}
    weights = network.whole() if parallel == "parameters" else network.state_dict()
    return Trained(weights, scored, trainer.progress)


def _network(model: ModelSettings, vocabulary: int, parallel: str) -> Network:
    """What this process has of the network."""
    if parallel in ("none", "threads"):
        return registry.build(model, vocabulary)
    # Imported here alone: it needs the feedforward family, on which the trainings of other families do not depend.
    return import_module("pipeline.core.parallel").KINDS[parallel](model, vocabulary)


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
