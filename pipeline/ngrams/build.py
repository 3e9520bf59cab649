"""An n-gram model from its configuration and a corpus."""

import gzip
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from pipeline.data.constraints import above_zero, at_least, check, one_of
from pipeline.data.corpus import Corpus
from pipeline.data.errors import InputError
from pipeline.ngrams import arpa, class_file, classes, counts, interpolated, kneser_ney


class Model(Protocol):
    """What every n-gram model can do."""

    @property
    def order(self) -> int:
        """n: it looks at the n - 1 words before."""

    def log_probabilities(self, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """Natural-log probability (T,) float32 of each of `ids` (T,), of which `before` are the words before."""


@dataclass
class Ngram:
    """conf/ngram/<name>.yaml; what a kind does not use keeps its default."""

    kind: str = one_of("interpolated", "kneser_ney", "class", "arpa")  # arpa: read from `path`
    order: int = at_least(1, below=1000, default=3)  # n
    tolerance: float = above_zero(default=1e-9)  # interpolated: EM ends when the mean log-likelihood rises by less
    backoff: bool = False  # kneser_ney, class: the back-off form instead of the interpolated one
    drop: bool = False  # kneser_ney, class: n-grams of order >= 3 seen once are left out
    fallback: bool = False  # kneser_ney: fixed discounts where the counts leave them undefined
    classes: int = 0  # class: how many
    path: str = ""  # arpa: a file that this or another tool wrote, .gz or not

    def __post_init__(self):
        check(self, "ngram.")
        if self.kind == "interpolated" and self.order != interpolated.ORDER:
            raise InputError(f"ngram.order={self.order}: deleted interpolation is the paper's trigram, order 3")
        if (self.kind == "class") != (self.classes > 0):
            raise InputError(
                f"ngram.classes={self.classes} with ngram.kind={self.kind}: a class model, and it alone, has classes"
            )
        if (self.kind == "arpa") != bool(self.path):
            raise InputError(
                f"ngram.path={self.path!r} with ngram.kind={self.kind}: an arpa model, and it alone, has a file"
            )


def fit(ngram: Ngram, corpus: Corpus, clusters: Path) -> Model:
    """The model, fitted on the corpus' training part; clusters: folder with <number of classes>/classes.csv."""
    words = len(corpus.vocabulary)
    if ngram.kind == "interpolated":
        return interpolated.fit(corpus.train, corpus.valid, words, ngram.tolerance)
    if ngram.kind == "kneser_ney":
        counted = counts.count(corpus.train, ngram.order, words)
        return kneser_ney.fit(counted, ngram.backoff, ngram.drop, ngram.fallback)
    if ngram.kind == "class":
        of_words = class_file.read(Path(clusters, str(ngram.classes), "classes.csv"), corpus.vocabulary)
        return classes.fit(corpus.train, of_words, ngram.order, ngram.backoff, ngram.drop)
    return _read(Path(ngram.path), corpus.vocabulary)


def _read(path: Path, vocabulary: list[str]) -> Model:
    """The model of an ARPA file."""
    if not path.is_file():
        raise InputError(f"ngram.path={path}: no such file")
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8") as lines:
            return arpa.read(lines, vocabulary)
    except (UnicodeDecodeError, EOFError, gzip.BadGzipFile) as error:
        raise InputError(f"ngram.path={path}: not UTF-8 text, or cut short: {error}") from error
    except InputError as error:
        raise InputError(f"ngram.path={path}: {error}") from error
