"""Stage ngram: one n-gram model, from ids to log-probabilities."""

import gzip
import logging
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from pipeline.data.corpus import SPLITS, read_corpus
from pipeline.data.errors import InputError
from pipeline.data.files import replacing
from pipeline.data.predictions import write_predictions
from pipeline.ngrams import arpa
from pipeline.ngrams.backoff import Backoff
from pipeline.ngrams.build import Ngram, fit
from pipeline.running import app
from pipeline.running.recorded import recorded

log = logging.getLogger(__name__)


@dataclass
class Config:
    """conf/ngram.yaml."""

    name: str
    ngram: Ngram
    data: str
    clusters: str
    export: str
    out: str
    timing: str


def memory(tokens: int, order: int) -> int:
    """Bytes that Kneser-Ney takes at most, where hardly an n-gram comes twice: arrays of 8 bytes a token.

    Of each order an n-gram's key, count, suffix, probability and back-off weight; three more pass by.
    """
    return 8 * tokens * (5 * order + 3)


def _enough_memory(ngram: Ngram, tokens: int) -> None:
    """Counting that would not fit is refused before it begins; the system would end it, or swap, much later."""
    needed, free = memory(tokens, ngram.order), psutil.virtual_memory().available
    if ngram.kind == "kneser_ney" and needed > free:
        raise InputError(
            f"ngram.order={ngram.order}: {tokens:,} words need up to {needed / 1e9:.1f} GB of memory, and "
            f"{free / 1e9:.1f} GB are free: lower ngram.order, or see docs/cluster.md for a tool that counts on disk"
        )


def main(config: Config) -> None:
    """Writes the arrays and metrics.json into config.out."""
    corpus = read_corpus(config.data)
    _enough_memory(config.ngram, len(corpus.train))
    with recorded("ngram", config, corpus) as run:
        start = time.perf_counter()
        model = fit(config.ngram, corpus, Path(config.clusters))
        if config.export and not isinstance(model, Backoff):
            raise InputError("export: only Kneser-Ney and ARPA models have the form of an ARPA file")
        fitted = time.perf_counter()
        raw = {split: model.log_probabilities(corpus.before(split), corpus.ids(split)) for split in SPLITS}
        metrics = write_predictions(Path(config.out), corpus, raw)
        run.costs["fit_seconds"] = fitted - start
        if config.export:
            _export(model, corpus.vocabulary, Path(config.export))
        log.info("%s: validation %.2f with share", config.name, metrics["valid"])  # test is for the report


def _export(model: Backoff, vocabulary: list[str], path: Path) -> None:
    opened = gzip.open if path.suffix == ".gz" else open
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary, opened(temporary, "wt", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in arpa.write(model, vocabulary))


if __name__ == "__main__":
    app.run("ngram", Config, main)
