"""Stage mix: a mixture of models, from their log-probabilities to its own (paper, section 4.1)."""

import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pipeline.data import mixture
from pipeline.data.corpus import Corpus, read_corpus
from pipeline.data.errors import InputError, check_above_zero
from pipeline.data.files import write_json
from pipeline.data.predictions import read_predictions, write_mixture_predictions
from pipeline.ngrams import bins, counts, interpolated
from pipeline.running import app
from pipeline.running.recorded import recorded

log = logging.getLogger(__name__)


@dataclass
class Mix:
    """conf/mix/<name>.yaml."""

    components: list[str]  # <model>/<seed>, folders below `predictions`
    weights: list[float]  # one each, or none: learned on validation
    conditional: bool = False  # learned for each bin of the context's frequency, as the trigram's
    tolerance: float = 1e-9  # learned: EM ends when the mean log-likelihood rises by less

    def __post_init__(self):
        if len(self.weights) not in (0, len(self.components)) or not self.components:
            raise InputError(
                f"mix: {len(self.components)} components, {len(self.weights)} weights; give one each or none"
            )
        if self.conditional and self.weights:
            raise InputError(f"mix.weights={self.weights} with mix.conditional=true: weights by bin are learned")
        if self.weights and (min(self.weights) < 0 or abs(sum(self.weights) - 1) > 1e-9):
            raise InputError(f"mix.weights={self.weights}: must not be negative, and sum to 1")
        check_above_zero(self, "mix.", "tolerance")


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
    corpus = read_corpus(config.data)
    with recorded("mix", config, corpus) as run:
        parts = {split: _parts(config, corpus, split) for split in ("valid", "test")}
        mixed, weights = (_conditional if config.mix.conditional else _everywhere)(config.mix, corpus, parts)
        metrics = write_mixture_predictions(Path(config.out), corpus, mixed)
        write_json(Path(config.out, "weights.json"), weights)
        run.parameters({"weights": weights})
        run.metrics(metrics)
        log.info("%s: validation %.2f, test %.2f", config.name, metrics["valid"], metrics["test"])


def _everywhere(mix: Mix, corpus: Corpus, parts: dict[str, np.ndarray]) -> tuple[dict, dict]:
    """The mixture of each split by one set of weights, and the weights by component."""
    weights = mix.weights or mixture.fit_weights(parts["valid"], mix.tolerance).tolist()
    mixed = {split: mixture.mix(part, weights) for split, part in parts.items()}
    return mixed, dict(zip(mix.components, weights, strict=True))


def _conditional(mix: Mix, corpus: Corpus, parts: dict[str, np.ndarray]) -> tuple[dict, dict]:
    """The mixture of each split by weights for each bin, and the weights by bin and component."""
    counted = counts.count(corpus.train, interpolated.ORDER - 1, len(corpus.vocabulary))
    binned = {split: interpolated.context_bins(counted, corpus.before(split), corpus.ids(split)) for split in parts}
    fitted = bins.fit(parts["valid"], binned["valid"], mix.tolerance)
    mixed = {split: bins.mix(part, binned[split], fitted) for split, part in parts.items()}
    every = {"everywhere": fitted.everywhere} | fitted.weights
    return mixed, {q: dict(zip(mix.components, a.tolist(), strict=True)) for q, a in every.items()}


def _parts(config: Config, corpus: Corpus, split: str) -> np.ndarray:
    """The log-probabilities of each component (K, T)."""
    parts = [read_predictions(Path(config.predictions, part), split) for part in config.mix.components]
    for part, array in zip(config.mix.components, parts, strict=True):
        if len(array) != len(corpus.ids(split)):
            raise InputError(
                f"{config.predictions}/{part}/{split}.npy: {len(array):,} tokens where the corpus in {config.data} has "
                f"{len(corpus.ids(split)):,}; both must come from the same corpus"
            )
    return np.stack(parts)


if __name__ == "__main__":
    app.run("mix", Config, main)
