"""Stage cluster: word classes for the class-based n-grams, by the exchange algorithm."""

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
    corpus = read_corpus(config.data)
    annealing = config.annealing if config.thorough else 0
    words = len(corpus.vocabulary)
    if config.classes > words:
        raise InputError(f"classes={config.classes}: more than the {words:,} words of the vocabulary")
    with recorded("cluster", config, corpus), Bar(f"{config.classes} classes", "pass") as bar:
        bar.begin(annealing + config.passes)
        classes = exchange.exchange(
            corpus.train,
            vocabulary=words,
            classes=config.classes,
            tolerance=config.tolerance,
            passes=config.passes,
            annealing=annealing,
            temperature=config.temperature,
            seed=config.seed,
            progress=lambda gain: bar.advance(1),
        )
        frequency = np.bincount(corpus.train, minlength=words)
        path = Path(config.out, "classes.csv")
        write_classes(path, classes=classes, vocabulary=corpus.vocabulary, frequency=frequency)
        perplexity = exchange.perplexity(corpus.train, classes)
        log.info("%d classes: class bigram perplexity on the training part %.3f", config.classes, perplexity)


def write_classes(path: Path, classes: np.ndarray, vocabulary: list[str], frequency: np.ndarray) -> None:
    """Writes a row for each word: its class, the word, its frequency in training. Classes are in order, and the most
    frequent words of each come first, so that people can read the file too."""
    table = pd.DataFrame({"class": classes, "word": vocabulary, "frequency": frequency})
    table = table.sort_values(["class", "frequency", "word"], ascending=[True, False, True], kind="stable")
    with replacing(path) as temporary:
        table.to_csv(temporary, index=False)


if __name__ == "__main__":
    app.run("cluster", main)
