"""One training: from ids and settings to the weights of a network, its learning curve and its log-probabilities."""

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
from pipeline.core.training.products import has_bfloat16
from pipeline.core.training.trainer import Progress, Trainer, Watch


@dataclass(frozen=True)
class Trained:
    """The results of a training."""

    weights: dict[str, torch.Tensor]  # of the best epoch
    scored: dict[str, np.ndarray]  # exact log P (T,) float32 of every token, by split
    rounded: bool  # whether scoring rounded products of infrequent words to bfloat16
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
    exact: bool = False,
) -> Trained:
    """Trains on ids["train"] with early stopping on ids["valid"], and scores `splits`.

    ids: of train, valid and test, one stream in this order; vocabulary: words, V; mark: id of the text mark; model,
    recipe: conf/models.yaml and conf/recipe; parallel: none, threads (one per core), or a key of
    pipeline.core.parallel.KINDS, to train on the processes of a group; features: initial C (V, m); exact: whether to
    score in float32 where the processor has bfloat16, too (networks/softmax.py). Raises InputError where settings and
    data do not fit, or where the loss becomes NaN or infinite.
    """
    # One thread by default: the order of a sum decides its last bits.
    torch.set_num_threads(cores() if parallel == "threads" else 1)
    if device.startswith("cuda"):  # so that sums have a fixed order, at some cost in speed
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True)
    torch.manual_seed(seed)  # of what stock modules draw as they are built
    network = _network(model, vocabulary, parallel)
    if not exact and not network.in_pairs and device == "cpu":
        network.rounded = has_bfloat16(torch.device(device))
    trainer = Trainer(
        network=network,
        recipe=recipe,
        train=ids["train"],
        valid=ids["valid"],
        mark=mark,
        seed=seed,
        device=device,
        watch=watch,
        features=features,
    )
    network = trainer.run()
    watch.begin(sum(len(ids[split]) for split in splits), "scoring")
    scored = {split: network.score(ids[split], before(ids, split), mark, progress=watch.advance) for split in splits}
    weights = network.gather_state() if parallel == "parameters" else network.state_dict()
    return Trained(weights, scored, network.rounded, trainer.progress)


def _network(model: ModelSettings, vocabulary: int, parallel: str) -> Network:
    """The network of this process."""
    if parallel in ("none", "threads"):
        return registry.build(model, vocabulary)
    # Imported only here: it needs the feedforward family, and trainings of other families do not depend on that.
    return import_module("pipeline.core.parallel").KINDS[parallel](model, vocabulary)


def cores() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
