"""Stage ngram: one n-gram model, from ids to log-probabilities."""

import logging
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from pipeline import app, store, tracking
from pipeline.core.errors import InputError
from pipeline.core.ngrams import interpolated

log = logging.getLogger(__name__)


@dataclass
class Ngram:
    """conf/ngram/<name>.yaml."""

    kind: str
    order: int
    tolerance: float

    def __post_init__(self):
        if self.kind != "interpolated":
            raise InputError(f"ngram.kind={self.kind!r}: choose interpolated")
        if self.order != interpolated.ORDER:
            raise InputError(f"ngram.order={self.order}: deleted interpolation is the paper's trigram, order 3")
        if self.tolerance <= 0:
            raise InputError(f"ngram.tolerance={self.tolerance:g}: must be above zero")


@dataclass
class Config:
    """conf/ngram.yaml."""

    name: str
    ngram: Ngram
    data: str
    out: str
    timing: str


def main(config: Config) -> None:
    """Writes the arrays and metrics.json into config.out."""
    corpus = store.read_corpus(config.data)
    with tracking.run("ngram", config.name, 0, {"ngram": asdict(config.ngram)}, corpus.counts["digest"]) as run:
        start = time.perf_counter()
        model = interpolated.fit(corpus.train, corpus.valid, len(corpus.vocabulary), config.ngram.tolerance)
        raw = {split: model.log_probabilities(corpus.before(split), corpus.ids(split)) for split in store.SPLITS}
        metrics = store.write_base_predictions(Path(config.out), corpus, raw)
        timing = {"seconds": time.perf_counter() - start}
        store.write_timing(Path(config.timing), timing)
        run.metrics(metrics | timing)
        log.info("%s: validation %.2f, test %.2f", config.name, metrics["valid"], metrics["test"])


if __name__ == "__main__":
    app.run("ngram", Config, main)
