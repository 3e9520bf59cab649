"""Fits an n-gram model from its settings, a corpus and, for some kinds, other files."""

import csv
import logging
import shutil
import tempfile
from pathlib import Path

import numpy as np
import psutil

from pipeline.config.ngram import NgramModel
from pipeline.core.common.errors import InputError
from pipeline.core.ngrams.counts import AT_ONCE, MEMORY, Store, memory_of
from pipeline.core.ngrams.model import Model, Source, make
from pipeline.data.corpus import Corpus

log = logging.getLogger(__name__)


def fit(ngram: NgramModel, corpus: Corpus, clusters: str | Path, memory: float = 0, place: str | Path = "") -> Model:
    """The model, fitted on the corpus or read from its ARPA file.

    clusters: folder with <number of classes>/classes.csv; memory: GB that the counts of Kneser-Ney may take, 0 for all
    free memory; place: folder for counts that need more (it is made if missing), by default the temporary folder.
    Raises InputError if a file is missing or does not fit, or if neither memory nor disk has room.
    """
    classes = None
    store = MEMORY
    if ngram.kind == "classes":
        classes = read_classes(Path(clusters, str(ngram.classes), "classes.csv"), corpus.vocabulary)
    if ngram.kind == "kneser_ney":
        folder = Path(place or tempfile.gettempdir())
        store = _store(len(corpus.train), order=ngram.order, memory=memory, folder=folder)
    return make(ngram, Source(corpus.train, corpus.valid, corpus.vocabulary, classes, store))


def _store(words: int, order: int, memory: float, folder: Path) -> Store:
    """The store for the counts: memory if they fit, else files in the folder."""
    needed = memory_of(words, order)
    if needed <= (memory * 1e9 or psutil.virtual_memory().available):
        return MEMORY
    folder.mkdir(parents=True, exist_ok=True)
    size = f"ngram.order={order}: {words:,} words need up to {needed / 1e9:.1f} GB"
    room = shutil.disk_usage(folder).free
    if needed > room:  # the system would kill the process much later, without a message
        raise InputError(
            f"{size}, and {folder} has {room / 1e9:.1f} GB: lower ngram.order, or choose a larger disk, by `out` for "
            "the stage ngram, by the variable TMPDIR for a model that is loaded"
        )
    log.info("%s of counts, in files at %s", size, folder)
    return Store(folder, AT_ONCE)


def read_classes(path: Path, vocabulary: list[str]) -> np.ndarray:
    """The class (V,) of each word of the vocabulary. Raises InputError if the file does not have exactly these
    words."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = [(row["word"], int(row["class"])) for row in csv.DictReader(file)]
        classes = dict(rows)
        fits = sorted(word for word, _ in rows) == sorted(vocabulary) and min(classes.values()) >= 0
    except (OSError, KeyError, TypeError, ValueError, csv.Error):  # TypeError: a line without a class
        fits = False
    if not fits:
        raise InputError(
            f"{path}: not there, or not the classes of this vocabulary of {len(vocabulary):,} words; run the stage "
            "that makes them, such as `dvc repro cluster@500`"
        )
    return np.array([classes[word] for word in vocabulary])
