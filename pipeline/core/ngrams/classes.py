"""Class-based n-grams (Brown et al. 1992; paper, section 4.1): P(w | h) = P(w | c(w)) P(c(w) | classes of h).

P(w | c) is the relative frequency of w among the words of its class in training, after `added` is added to each word's
count (SRILM's replace-words-with-classes adds 1 by default). An unseen word gets the class of `<unk>`, whose rare words
it resembles most. With added=0, all unseen words together count as one occurrence there, which keeps the logarithm
finite; the correction for unseen words does the rest.
"""

from dataclasses import dataclass

import numpy as np

from pipeline.core.common.settings import NgramSettings
from pipeline.core.ngrams import counts, kneser_ney
from pipeline.core.ngrams.backoff import Backoff
from pipeline.core.ngrams.model import Model, Source

UNKNOWN_ID = 0


@dataclass(frozen=True)
class ClassModel(Model):
    """An n-gram model over classes, and the probability of each word in its class."""

    classes: np.ndarray  # (V,) the class of each word
    log_share: np.ndarray  # (V,) log P(w | c(w)), natural
    over_classes: Backoff

    @property
    def order(self) -> int:
        """n of the model over classes."""
        return self.over_classes.order

    @property
    def vocabulary(self) -> int:
        """V, words."""
        return len(self.classes)

    def log_probabilities(self, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """See Model."""
        of_class = self.over_classes.log_probabilities(self.classes[before], self.classes[ids])
        return (of_class + self.log_share[ids]).astype(np.float32)


def make(ngram: NgramSettings, source: Source) -> Model:
    """See model.make."""
    return fit(source.train, source.classes, ngram.order, ngram.added, ngram.backoff, ngram.drop, ngram.undefined)


def fit(
    train: np.ndarray,
    classes: np.ndarray,
    order: int,
    added: float = 0.0,
    backoff: bool = False,
    drop: bool = False,
    undefined: str = "fixed",
) -> ClassModel:
    """Modified Kneser-Ney over the classes (V,) of the training ids.

    added: is added to the training count of each word; backoff, drop, undefined: see kneser_ney.fit. The discounts of
    order 1 are undefined, as no class is rare.
    """
    frequency = np.bincount(train, minlength=len(classes)).astype(float)
    unseen = frequency == 0
    classes = np.where(unseen, classes[UNKNOWN_ID], classes)
    if added:
        frequency += added
    else:
        frequency[unseen] = 1 / max(unseen.sum(), 1)
    share = frequency / np.bincount(classes, frequency)[classes]
    counted = counts.count(classes[train], order, int(classes.max()) + 1)
    return ClassModel(classes, np.log(share), kneser_ney.fit(counted, backoff, drop, undefined))
