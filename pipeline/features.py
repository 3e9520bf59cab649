"""Stage features: features of words by the SVD of their co-occurrences, for networks to start from."""

import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pipeline.data.constraints import above_zero, check
from pipeline.data.corpus import read_corpus
from pipeline.data.errors import InputError
from pipeline.data.files import replacing
from pipeline.networks import cooccurrence
from pipeline.running import app
from pipeline.running.recorded import recorded

log = logging.getLogger(__name__)


@dataclass
class Config:
    """conf/features.yaml."""

    name: str
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
    corpus = read_corpus(config.data)
    words = len(corpus.vocabulary)
    if config.m >= words:
        raise InputError(f"m={config.m}: must be below the {words:,} words of the vocabulary")
    with recorded("features", config, corpus):
        found = cooccurrence.features(corpus.train, words, config.m, config.contexts, config.reach)
        with replacing(Path(config.out, "features.npy")) as temporary:
            np.save(temporary, found)
        log.info("%d features of %s words", config.m, f"{words:,}")


if __name__ == "__main__":
    app.run("features", Config, main)
