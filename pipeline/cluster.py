"""Stage cluster: word classes for the class-based n-grams, by exchange."""

import logging
from pathlib import Path

import numpy as np
from tqdm import tqdm

from pipeline.config.stages import Cluster
from pipeline.core.clustering import exchange
from pipeline.data import class_file
from pipeline.data.corpus import read_corpus
from pipeline.data.errors import InputError
from pipeline.running import app
from pipeline.running.stage import recorded

log = logging.getLogger(__name__)


def main(config: Cluster) -> None:
    """Writes classes.csv into config.out."""
    corpus, out = read_corpus(config.data), Path(config.out)
    words = len(corpus.vocabulary)
    if config.classes > words:
        raise InputError(f"classes={config.classes}: more than the {words:,} words of the vocabulary")
    annealing = config.annealing if config.thorough else 0
    with recorded("cluster", config, corpus):
        with tqdm(total=annealing + config.passes, unit="pass", desc=f"{config.classes} classes", disable=None) as bar:

            def progress(gain: float) -> None:
                bar.update()
                bar.set_postfix(gain=f"{gain / len(corpus.train):.2e} a word")

            of_words = exchange.exchange(
                corpus.train,
                words,
                config.classes,
                config.tolerance,
                config.passes,
                annealing,
                config.temperature,
                config.seed,
                progress,
            )
        class_file.write(out / "classes.csv", of_words, corpus.vocabulary, np.bincount(corpus.train, minlength=words))
        perplexity = exchange.perplexity(corpus.train, of_words)
        log.info("%d classes: class bigram perplexity on the training part %.3f", config.classes, perplexity)


if __name__ == "__main__":
    app.run("cluster", main)
