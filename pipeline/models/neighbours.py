"""The words whose features are most like a word's, by the cosine between them."""

from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.core.beyond.nearest import nearest
from pipeline.data.corpus import Corpus
from pipeline.data.errors import InputError
from pipeline.data.weights import read_features


def neighbours(word: str, network: Path, corpus: Corpus, count: int, seen: int) -> pd.DataFrame:
    """At most `count` words with their cosines, falling, of those that occur `seen` times in training or more.

    network: the folder of its weights. Raises InputError where the vocabulary does not hold the word, training never
    shows it, or no other word is left.
    """
    vocabulary = corpus.vocabulary
    if word not in vocabulary:
        alike = [each for each in vocabulary if each.lower() == word.lower()]
        raise InputError(
            f"{word!r} is not in the vocabulary of this corpus"
            + (f"; {', '.join(map(repr, alike))} is" if alike else ": it is too rare there, or another spelling")
        )
    times = np.bincount(corpus.train, minlength=len(vocabulary))
    place = vocabulary.index(word)
    if times[place] == 0:
        raise InputError(f"{word!r} never occurs in training, so it has learned no features")
    ids, cosines = nearest(read_features(network), place, count, times >= seen)
    if not len(ids):
        raise InputError(f"no other word occurs {seen} times in training: ask for fewer")
    return pd.DataFrame({"word": [vocabulary[i] for i in ids], "cosine": cosines.astype(float)})
