"""Stage cluster: word classes for the class-based n-grams, by exchange."""

import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tqdm import tqdm

from pipeline.data.constraints import above_zero, at_least, check
from pipeline.data.corpus import read_corpus
from pipeline.data.errors import InputError
from pipeline.ngrams import class_file, exchange
from pipeline.running import app
from pipeline.running.recorded import recorded

log = logging.getLogger(__name__)


@dataclass
class Config:
    """conf/cluster.yaml."""

    name: str
    classes: int = at_least(2)
    tolerance: float = above_zero()
    passes: int = above_zero()
    thorough: bool
    annealing: int = above_zero()
    temperature: float = above_zero()
    seed: int = at_least(0)
    data: str
    out: str
    timing: str

    def __post_init__(self):
        check(self)


def main(config: Config) -> None:
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

            found = exchange.exchange(
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
        class_file.write(out / "classes.csv", found, corpus.vocabulary, np.bincount(corpus.train, minlength=words))
        perplexity = exchange.perplexity(corpus.train, found)
        log.info("%d classes: class bigram perplexity on the training part %.3f", config.classes, perplexity)


if __name__ == "__main__":
    app.run("cluster", Config, main)
