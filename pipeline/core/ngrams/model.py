"""What every n-gram model can do, and the model of a kind: a file of this folder that has `make`."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from importlib import import_module

import numpy as np

from pipeline.core.common.errors import InputError
from pipeline.core.common.settings import NgramSettings
from pipeline.core.ngrams.counts import MEMORY, Store


class Model(ABC):
    """A model of words that looks at the order - 1 words before."""

    order: int  # n
    vocabulary: int  # V, words

    @abstractmethod
    def log_probabilities(self, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """Natural-log probability (T,) float32 of each of `ids` (T,), of which `before` are the words before."""

    def next(self, before: np.ndarray) -> np.ndarray:
        """Natural-log probability (V,) float32 of each word of the vocabulary after the words `before`."""
        # One stream in which each word stands after the same context.
        context = before[len(before) - min(self.order - 1, len(before)) :]
        every = np.arange(self.vocabulary)[:, None]
        stream = np.concatenate([np.tile(context, (self.vocabulary, 1)), every], 1).ravel()
        return self.log_probabilities(before[:0], stream)[len(context) :: len(context) + 1]

    def arpa(self, vocabulary: Sequence[str]) -> Iterator[str]:
        """The lines of the model as an ARPA file. Raises InputError for a kind that has not that form."""
        raise InputError("export: only Kneser-Ney and ARPA models have the form of an ARPA file")


def make(
    ngram: NgramSettings,
    train: np.ndarray,
    valid: np.ndarray,
    vocabulary: Sequence[str],
    classes: np.ndarray | None = None,
    store: Store = MEMORY,
) -> Model:
    """The model, counted on training and, where it has weights, fitted on validation; or read from its ARPA file.

    ngram: of conf/ngrams.yaml; classes: of each word (V,), for a class model; store: where the counts of Kneser-Ney
    lie. Raises InputError where the counts leave discounts undefined, or the file is none.
    """
    kind = import_module(f".{ngram.kind}", __package__)
    return kind.make(ngram, train, valid, vocabulary, classes, store)
