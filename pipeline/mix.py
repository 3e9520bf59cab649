"""Stage mix: a mixture of models, from their log-probabilities to its own (paper, section 4.1).

What is mixed are the models' own probabilities, as in the paper; the mixture gets the share for unseen words last, like
any other model."""

import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pipeline.data import mixture
from pipeline.data.constraints import above_zero, at_least, check
from pipeline.data.corpus import Corpus, read_corpus
from pipeline.data.errors import InputError
from pipeline.data.files import write_json
from pipeline.data.predictions import folder_of, read_predictions, write_predictions
from pipeline.data.record import check_corpus, read
from pipeline.ngrams import bins, counts, interpolated
from pipeline.running import app
from pipeline.running.recorded import recorded

SCORED = ("valid", "test")

log = logging.getLogger(__name__)


@dataclass
class Mix:
    """conf/mix/<name>.yaml."""

    components: list[str]  # models: <name>/<seed>
    weights: list[float]  # one each, or none: learned on validation
    by_frequency: bool = False  # learned for each bin of the context's frequency, as the trigram's
    tolerance: float = above_zero(default=1e-9)  # learned: EM ends when the mean log-likelihood rises by less

    def __post_init__(self):
        if len(self.weights) not in (0, len(self.components)) or not self.components:
            raise InputError(
                f"mix: {len(self.components)} components, {len(self.weights)} weights; give one each or none"
            )
        if self.by_frequency and self.weights:
            raise InputError(f"mix.weights={self.weights} with mix.by_frequency=true: weights by bin are learned")
        if self.weights and (min(self.weights) < 0 or abs(sum(self.weights) - 1) > 1e-9):
            raise InputError(f"mix.weights={self.weights}: must not be negative, and sum to 1")
        check(self, "mix.")


@dataclass
class Config:
    """conf/mix.yaml."""

    name: str
    network: str
    mix: Mix
    data: str
    predictions: list[str]
    seed: int = at_least(0)
    out: str
    timing: str

    def __post_init__(self):
        check(self)
        self.name = self.name or "+".join(part.split("/")[0] for part in self.mix.components)


def main(config: Config) -> None:
    """Writes the arrays, metrics.json and weights.json into config.out."""
    corpus = read_corpus(config.data)
    with recorded("mix", config, corpus):
        folders = [folder_of(part, config.predictions) for part in config.mix.components]
        for folder in folders:
            check_corpus(read(folder), folder, corpus)
        parts = {
            split: np.stack([read_predictions(folder, f"raw/{split}", len(corpus.ids(split))) for folder in folders])
            for split in SCORED
        }
        mixed, weights = (_by_frequency if config.mix.by_frequency else _everywhere)(config.mix, corpus, parts)
        metrics = write_predictions(Path(config.out), corpus, mixed)
        write_json(Path(config.out, "weights.json"), weights)
        log.info("%s: validation %.2f with share", config.name, metrics["valid"])  # test is for the report


def _everywhere(mix: Mix, corpus: Corpus, parts: dict[str, np.ndarray]) -> tuple[dict, dict]:
    """The mixture of each split by one set of weights, and the weights by component; parts: log P_k (K, T)."""
    weights = mix.weights or mixture.fit_weights(parts["valid"], mix.tolerance).tolist()
    mixed = {split: mixture.mix(part, weights) for split, part in parts.items()}
    return mixed, dict(zip(mix.components, weights, strict=True))


def _by_frequency(mix: Mix, corpus: Corpus, parts: dict[str, np.ndarray]) -> tuple[dict, dict]:
    """The mixture of each split by weights for each bin, and the weights by bin and component."""
    counted = counts.count(corpus.train, interpolated.ORDER - 1, len(corpus.vocabulary))
    binned = {split: interpolated.context_bins(counted, corpus.before(split), corpus.ids(split)) for split in parts}
    fitted = bins.fit(parts["valid"], binned["valid"], mix.tolerance)
    mixed = {split: bins.mix(part, binned[split], fitted) for split, part in parts.items()}
    every = {"everywhere": fitted.everywhere} | fitted.weights
    return mixed, {q: dict(zip(mix.components, a.tolist(), strict=True)) for q, a in every.items()}


if __name__ == "__main__":
    app.run("mix", Config, main)
