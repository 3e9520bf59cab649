"""Stage features: word features by the SVD of co-occurrence counts, from which networks can start training."""

import logging
from pathlib import Path

import numpy as np

from pipeline.config.features import Features
from pipeline.core.beyond import cooccurrence
from pipeline.core.common.errors import InputError
from pipeline.data.corpus import read_corpus
from pipeline.data.files import replacing
from pipeline.running import app
from pipeline.running.stage import recorded

log = logging.getLogger(__name__)


def main(config: Features) -> None:
    """Writes features.npy, (V, m) float32, into config.out."""
    corpus = read_corpus(config.data)
    words = len(corpus.vocabulary)
    if config.m >= words:
        raise InputError(f"m={config.m}: must be below the {words:,} words of the vocabulary")
    with recorded("features", config, corpus):
        features = cooccurrence.features(corpus.train, words, m=config.m, contexts=config.contexts, reach=config.reach)
        with replacing(Path(config.out, "features.npy")) as temporary:
            np.save(temporary, features)
        log.info("%d features of %s words", config.m, f"{words:,}")


if __name__ == "__main__":
    app.run("features", main)
