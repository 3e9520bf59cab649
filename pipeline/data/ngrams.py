"""An n-gram model from its settings, a corpus, and the files that it needs beside them."""

import logging
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import psutil

from pipeline.config.ngram import NgramModel
from pipeline.core.common.errors import InputError
from pipeline.core.ngrams.counts import AT_ONCE, MEMORY, Store, memory_of
from pipeline.core.ngrams.model import Model, make
from pipeline.data.corpus import Corpus

log = logging.getLogger(__name__)


def fit(ngram: NgramModel, corpus: Corpus, clusters: str | Path, memory: float = 0, place: str | Path = "") -> Model:
    """The model, fitted on the corpus, or read from its ARPA file.

    clusters: folder with <number of classes>/classes.csv; memory: GB that Kneser-Ney's counts may take, 0 for what is
    free; place: the folder, which is made, of those that take more, the temporary one where none is given. Raises
    InputError for files that are not there or do not fit, and where neither memory nor the disk has room.
    """
    classes, store = None, MEMORY
    if ngram.kind == "classes":
        classes = read_classes(Path(clusters, str(ngram.classes), "classes.csv"), corpus.vocabulary)
    if ngram.kind == "kneser_ney":
        store = _store(len(corpus.train), ngram.order, memory, Path(place or tempfile.gettempdir()))
    return make(ngram, corpus.train, corpus.valid, corpus.vocabulary, classes, store)


def _store(words: int, order: int, memory: float, folder: Path) -> Store:
    needed = memory_of(words, order)
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


def read_classes(path: Path, vocabulary: list[str]) -> np.ndarray:
    """The class (V,) of each word of the vocabulary. Raises InputError where the file does not say them."""
    try:
        classes = pd.read_csv(path, keep_default_na=False).set_index("word")["class"]
        numbers = pd.api.types.is_integer_dtype(classes) and classes.min() >= 0
        fit = numbers and sorted(classes.index) == sorted(vocabulary)
    except (OSError, KeyError, ValueError):  # pandas' own errors are ValueErrors
        fit = False
    if not fit:
        raise InputError(
            f"{path}: not there, or not the classes of this vocabulary of {len(vocabulary):,} words; run the stage "
            "that makes them, such as `dvc repro cluster@500`"
        )
    return classes.loc[vocabulary].to_numpy()
