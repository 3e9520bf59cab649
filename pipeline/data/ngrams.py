"""An n-gram model from its settings, a corpus, and the files that it needs beside them."""

from pathlib import Path

from pipeline.config.ngram import Ngram
from pipeline.core.ngrams import build
from pipeline.core.ngrams.counts import MEMORY, Store
from pipeline.data import arpa, class_file
from pipeline.data.corpus import Corpus


def fit(ngram: Ngram, corpus: Corpus, clusters: str | Path, store: Store = MEMORY) -> build.Model:
    """The model, fitted on the corpus, or read from its ARPA file.

    clusters: folder with <number of classes>/classes.csv; store: where the counts of Kneser-Ney lie. Raises InputError
    for files that are not there or do not fit.
    """
    if ngram.kind == "arpa":
        return arpa.read_file(Path(ngram.path), corpus.vocabulary)
    of_words = None
    if ngram.kind == "class":
        of_words = class_file.read(Path(clusters, str(ngram.classes), "classes.csv"), corpus.vocabulary)
    return build.fit(ngram, corpus.train, corpus.valid, len(corpus.vocabulary), of_words, store)
