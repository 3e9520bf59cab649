"""An n-gram model from its settings, a corpus, and the files that it needs beside them."""

import logging
import shutil
import tempfile
from pathlib import Path

import psutil

from pipeline.config.ngram import Ngram
from pipeline.core.ngrams import build
from pipeline.core.ngrams.counts import AT_ONCE, MEMORY, Store
from pipeline.data import arpa, class_file
from pipeline.data.corpus import Corpus
from pipeline.data.errors import InputError

log = logging.getLogger(__name__)


def fit(ngram: Ngram, corpus: Corpus, clusters: str | Path, memory: float = 0, place: str | Path = "") -> build.Model:
    """The model, fitted on the corpus, or read from its ARPA file.

    clusters: folder with <number of classes>/classes.csv; memory: GB that Kneser-Ney's counts may take, 0 for what is
    free; place: the folder, which is made, of those that take more, the temporary one where none is given. Raises
    InputError for files that are not there or do not fit, and where neither memory nor the disk has room.
    """
    if ngram.kind == "arpa":
        return arpa.read_file(Path(ngram.path), corpus.vocabulary)
    of_words, store = None, MEMORY
    if ngram.kind == "class":
        of_words = class_file.read(Path(clusters, str(ngram.classes), "classes.csv"), corpus.vocabulary)
    if ngram.kind == "kneser_ney":
        store = _store(len(corpus.train), ngram.order, memory, Path(place or tempfile.gettempdir()))
    return build.fit(ngram, corpus.train, corpus.valid, len(corpus.vocabulary), of_words, store)


def _store(words: int, order: int, memory: float, folder: Path) -> Store:
    needed = build.memory(words, order)
    if needed <= (memory * 1e9 or psutil.virtual_memory().available):
        return MEMORY
    folder.mkdir(parents=True, exist_ok=True)
    size = f"ngram.order={order}: {words:,} words need up to {needed / 1e9:.1f} GB"
    if needed > (room := shutil.disk_usage(folder).free):  # the system would end it much later, without a word
        raise InputError(
            f"{size}, and {folder} has {room / 1e9:.1f} GB: lower ngram.order, or choose a larger disk, by `out` for "
            "the stage ngram, by the variable TMPDIR for a model that is loaded"
        )
    log.info("%s of counts, in files at %s", size, folder)
    return Store(folder, AT_ONCE)
