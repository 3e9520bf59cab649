"""Stage features: features of words by the SVD of their co-occurrences, for networks to start from."""

import logging
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pipeline.data.constraints import above_zero, check
from pipeline.data.corpus import read_corpus
from pipeline.data.errors import InputError
from pipeline.data.files import replacing, write_timing
from pipeline.networks import cooccurrence
from pipeline.running import app, tracking

log = logging.getLogger(__name__)


@dataclass
class Config:
    """conf/features.yaml."""

    m: int = above_zero()
    contexts: int = above_zero()
    reach: int = above_zero()
    data: str
    out: str
    timing: str

    def __post_init__(self):
        check(self)
        if self.m >= self.contexts:
            raise InputError(f"m={self.m} with contexts={self.contexts}: fewer features than contexts, please")


def main(config: Config) -> None:
    """Writes features.npy, (V, m) float32, into config.out."""
    start = time.perf_counter()
    corpus = read_corpus(config.data)
    words = len(corpus.vocabulary)
    if config.m >= words:
        raise InputError(f"m={config.m}: must be below the {words:,} words of the vocabulary")
    chosen = {key: getattr(config, key) for key in ("m", "contexts", "reach")}
    with tracking.run("features", f"svd{config.m}", 0, chosen, corpus.counts["digest"]) as run:
        found = cooccurrence.features(corpus.train, words, config.m, config.contexts, config.reach)
        with replacing(Path(config.out, "features.npy")) as temporary:
            np.save(temporary, found)
        timing = app.cost(start)
        write_timing(Path(config.timing), timing)
        run.metrics(timing)
        log.info("%d features of %s words", config.m, f"{words:,}")


if __name__ == "__main__":
    app.run("features", Config, main)
