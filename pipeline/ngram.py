"""Stage ngram: one n-gram model, from ids to log-probabilities."""

import logging
import shutil
import time
from pathlib import Path

import psutil

from pipeline.config.stages import NgramStage
from pipeline.core.common.splits import SPLITS
from pipeline.core.ngrams import build
from pipeline.core.ngrams.backoff import Backoff
from pipeline.core.ngrams.counts import AT_ONCE, MEMORY, Store
from pipeline.data import arpa, ngrams
from pipeline.data.corpus import read_corpus
from pipeline.data.errors import InputError
from pipeline.data.predictions import write_predictions
from pipeline.running import app
from pipeline.running.stage import recorded

log = logging.getLogger(__name__)


def main(config: NgramStage) -> None:
    """Writes the arrays and metrics.json into config.out."""
    corpus, ngram = read_corpus(config.data), config.ngram
    store = _store(config, len(corpus.train)) if ngram.kind == "kneser_ney" else MEMORY
    with recorded("ngram", config, corpus) as run:
        start = time.perf_counter()
        model = ngrams.fit(ngram, corpus, config.clusters, store)
        if config.export and not isinstance(model, Backoff):
            raise InputError("export: only Kneser-Ney and ARPA models have the form of an ARPA file")
        run.costs["fit_seconds"] = time.perf_counter() - start
        raw = {split: model.log_probabilities(corpus.before(split), corpus.ids(split)) for split in SPLITS}
        write_predictions(Path(config.out), corpus, raw)
        if config.export:
            arpa.write_file(model, corpus.vocabulary, Path(config.export))


def _store(config: NgramStage, words: int) -> Store:
    """Where the counts lie. Raises InputError where neither memory nor the disk has room for them."""
    needed, free = build.memory(words, config.ngram.order), psutil.virtual_memory().available
    if needed <= (config.memory * 1e9 or free):
        return MEMORY
    folder = Path(config.out).absolute().parent
    folder.mkdir(parents=True, exist_ok=True)
    if needed > (room := shutil.disk_usage(folder).free):  # the system would end it much later, without a word
        raise InputError(
            f"ngram.order={config.ngram.order}: {words:,} words need up to {needed / 1e9:.1f} GB, and {folder} has "
            f"{room / 1e9:.1f} GB: lower ngram.order, or set `out` to a larger disk"
        )
    log.info("%s: up to %.1f GB of counts, in files at %s", config.name, needed / 1e9, folder)
    return Store(folder, AT_ONCE)


if __name__ == "__main__":
    app.run("ngram", main)
