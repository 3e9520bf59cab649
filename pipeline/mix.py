"""Stage mix: a mixture of models, from their log-probabilities to its own (paper, section 4.1)."""

import logging
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from pipeline import app, store, tracking
from pipeline.core import mixture
from pipeline.core.errors import InputError

log = logging.getLogger(__name__)


@dataclass
class Mix:
    """conf/mix/<name>.yaml."""

    components: list[str]  # <model>/<seed>, folders below `predictions`
    weights: list[float]  # one each, or none: learned on validation

    def __post_init__(self):
        if len(self.weights) not in (0, len(self.components)) or not self.components:
            raise InputError(
                f"mix: {len(self.components)} components, {len(self.weights)} weights; give one each or none"
            )
        if self.weights and (min(self.weights) < 0 or abs(sum(self.weights) - 1) > 1e-9):
            raise InputError(f"mix.weights={self.weights}: must not be negative, and sum to 1")


@dataclass
class Config:
    """conf/mix.yaml."""

    name: str
    mix: Mix
    data: str
    predictions: str
    seed: int
    out: str
    timing: str


def main(config: Config) -> None:
    """Writes the arrays and metrics.json into config.out."""
    corpus = store.read_corpus(config.data)
    with tracking.run("mix", config.name, config.seed, {"mix": asdict(config.mix)}, corpus.counts["digest"]) as run:
        start = time.perf_counter()
        parts = {split: _parts(config, corpus, split) for split in ("valid", "test")}
        weights = config.mix.weights or mixture.fit_weights(parts["valid"]).tolist()
        mixed = {split: mixture.mix(part, weights) for split, part in parts.items()}
        metrics = store.write_mixture_predictions(Path(config.out), corpus, mixed)
        weights = dict(zip(config.mix.components, weights, strict=True))
        store.write_json(Path(config.out, "weights.json"), weights)
        run.parameters({"weights": weights})
        timing = {"seconds": time.perf_counter() - start}
        store.write_timing(Path(config.timing), timing)
        run.metrics(metrics | timing)
        log.info("%s: validation %.2f, test %.2f", config.name, metrics["valid"], metrics["test"])


def _parts(config: Config, corpus: store.Corpus, split: str) -> np.ndarray:
    """The log-probabilities of each component (K, T)."""
    parts = [store.read_predictions(Path(config.predictions, part), split) for part in config.mix.components]
    for part, array in zip(config.mix.components, parts, strict=True):
        if len(array) != len(corpus.ids(split)):
            raise InputError(
                f"{config.predictions}/{part}/{split}.npy: {len(array):,} tokens where the corpus in {config.data} has "
                f"{len(corpus.ids(split)):,}; both must come from the same corpus"
            )
    return np.stack(parts)


if __name__ == "__main__":
    app.run("mix", Config, main)
