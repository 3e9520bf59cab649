"""Stage cluster: word classes for the class-based n-grams, by exchange."""

import logging
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.config.cluster import Cluster
from pipeline.core.clustering import exchange
from pipeline.core.common.errors import InputError
from pipeline.data.corpus import read_corpus
from pipeline.data.files import replacing
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
        write_classes(Path(config.out, "classes.csv"), of_words, corpus.vocabulary, frequency)
        perplexity = exchange.perplexity(corpus.train, of_words)
        log.info("%d classes: class bigram perplexity on the training part %.3f", config.classes, perplexity)


def write_classes(path: Path, classes: np.ndarray, vocabulary: list[str], frequency: np.ndarray) -> None:
    """A line for each word, to be read by people too: its class, itself, its frequency in training; the classes in
    order, the most frequent words of each first."""
    table = pd.DataFrame({"class": classes, "word": vocabulary, "frequency": frequency})
    table = table.sort_values(["class", "frequency", "word"], ascending=[True, False, True], kind="stable")
    with replacing(path) as temporary:
        table.to_csv(temporary, index=False)


if __name__ == "__main__":
    app.run("cluster", main)
