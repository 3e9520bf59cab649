"""The interface of n-gram models. Each kind of model is a file of this folder with a function `make`."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module

import numpy as np

from pipeline.core.common.errors import InputError
from pipeline.core.common.settings import NgramSettings
from pipeline.core.ngrams.counts import MEMORY, Store


class Model(ABC):
    """A model that predicts a word from the order - 1 words before it."""

    order: int  # n
    vocabulary: int  # V, words

    @abstractmethod
    def log_probabilities(self, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """Natural-log probability (T,) float32 of each of `ids` (T,); before: the words that precede `ids`."""

    def next(self, before: np.ndarray) -> np.ndarray:
        """Natural-log probability (V,) float32 of each word of the vocabulary after the words `before`."""
        # One stream with the context before each word of the vocabulary.
        context = before[len(before) - min(self.order - 1, len(before)) :]
        all_words = np.arange(self.vocabulary)[:, None]
        stream = np.concatenate([np.tile(context, (self.vocabulary, 1)), all_words], 1).ravel()
        return self.log_probabilities(before[:0], stream)[len(context) :: len(context) + 1]

    def arpa(self, vocabulary: Sequence[str]) -> Iterator[str]:
        """The lines of the model's ARPA file. Raises InputError for a kind that has no such form."""
        raise InputError("export: only Kneser-Ney and ARPA models have the form of an ARPA file")


@dataclass(frozen=True)
class Source:
    """From what a model is made; each kind uses what it needs."""

    train: np.ndarray  # (T,) ids
    valid: np.ndarray  # (T,) ids, which follow those of training
    vocabulary: Sequence[str]
    classes: np.ndarray | None = None  # (V,) the class of each word, for a class model
    store: Store = MEMORY  # for the counts of Kneser-Ney


def make(ngram: NgramSettings, source: Source) -> Model:
    """The model: counted on training, with weights fitted on validation where it has weights; or from its ARPA file.

    ngram: an entry of conf/ngrams.yaml. Raises InputError where the counts leave discounts undefined, or where the file
    is no ARPA file.
    """
    return import_module(f".{ngram.kind}", __package__).make(ngram, source)
