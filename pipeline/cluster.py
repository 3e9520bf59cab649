"""Stage cluster: word classes for the class-based n-grams, by exchange."""

import logging
from pathlib import Path

import numpy as np

from pipeline.config.stages import Cluster
from pipeline.core.clustering import exchange
from pipeline.data import class_file
from pipeline.data.corpus import read_corpus
from pipeline.data.errors import InputError
from pipeline.running import app
from pipeline.running.progress import Bar
from pipeline.running.stage import recorded

log = logging.getLogger(__name__)


def main(config: Cluster) -> None:
    """Writes classes.csv into config.out."""
    corpus, annealing = read_corpus(config.data), config.annealing if config.thorough else 0
    words = len(corpus.vocabulary)
    if config.classes > words:
        raise InputError(f"classes={config.classes}: more than the {words:,} words of the vocabulary")
    with recorded("cluster", config, corpus), Bar(f"{config.classes} classes", "pass") as bar:
        bar.begin(annealing + config.passes)
        of_words = exchange.exchange(
            corpus.train,
            words,
            config.classes,
            config.tolerance,
            config.passes,
            annealing,
            config.temperature,
            config.seed,
            progress=lambda gain: bar.advance(1),
        )
        frequency = np.bincount(corpus.train, minlength=words)
        class_file.write(Path(config.out, "classes.csv"), of_words, corpus.vocabulary, frequency)
        perplexity = exchange.perplexity(corpus.train, of_words)
        log.info("%d classes: class bigram perplexity on the training part %.3f", config.classes, perplexity)


if __name__ == "__main__":
    app.run("cluster", main)
