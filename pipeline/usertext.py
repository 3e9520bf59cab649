"""A user's text as the ids of a corpus."""

import re
from itertools import chain

import numpy as np

from pipeline.core.corpus import read_plain, read_tokens, stream
from pipeline.core.errors import InputError
from pipeline.core.symbols import NUMBER, UNKNOWN
from pipeline.core.vocabulary import PROPER
from pipeline.store import Corpus

CONTEXT = 32  # marks before a text: more than any model looks back


def words_of(text: str, corpus: Corpus, tokens: bool = False) -> list[str]:
    """The words of a text, with the marks that the corpus has after each paragraph and at its end.

    tokens: the text is tokenised, words apart by white space, a paragraph a line. Abbreviations that the corpus keeps
    whole, such as "Mr.", stay whole. Raises InputError where there are no words.
    """
    lines = text.splitlines(keepends=True)
    if tokens:
        pieces = [(words, True) for words, _ in read_tokens(lines) if words]
    else:
        whole = abbreviations(corpus)
        pieces = [(_join(words, whole), ends) for words, ends in read_plain(lines)]
    if not any(words for words, _ in pieces):
        raise InputError("no words in the text")
    marks = [mark for mark, place in corpus.counts["marks"].items() if (corpus.train == place).any()]
    return list(chain.from_iterable(stream(pieces, marks)))


def abbreviations(corpus: Corpus) -> set[str]:
    """The words that end with a point and are more frequent in training with it than without."""
    counts = np.bincount(corpus.train, minlength=len(corpus.vocabulary))
    frequency = dict(zip(corpus.vocabulary, counts.tolist(), strict=True))
    pointed = [word for word in corpus.vocabulary if len(word) > 1 and word.endswith(".")]
    return {word for word in pointed if frequency[word] > frequency.get(word[:-1], 0)}


def _join(paragraph: list[str], whole: set[str]) -> list[str]:
    """A word and the point behind it in one where that is an abbreviation."""
    joined: list[str] = []
    for word in paragraph:
        if word == "." and joined and joined[-1] + "." in whole:
            joined[-1] += "."
        else:
            joined.append(word)
    return joined


def ids_of(words: list[str], corpus: Corpus) -> np.ndarray:
    """Ids (T,), as the corpus folds its words; for a word that the vocabulary does not hold that of a symbol."""
    place = {word: k for k, word in enumerate(corpus.vocabulary)}
    if not any(word != word.lower() for word in corpus.vocabulary):  # a corpus without capitals
        folded = [word if word in place else word.lower() for word in words]
        if NUMBER in place:
            folded = [NUMBER if re.search(r"\d", word) else word for word in folded]
    else:
        folded = words
    proper = place.get(PROPER, 0)
    found = [place.get(key, proper if word[:1].isupper() else 0) for key, word in zip(folded, words, strict=True)]
    return np.array(found, dtype=np.int64)


def unknown(ids: np.ndarray, corpus: Corpus) -> np.ndarray:
    """Mask (T,) of the words that the vocabulary does not hold."""
    return np.isin(corpus.vocabulary, [UNKNOWN, PROPER])[ids]


def before(corpus: Corpus) -> np.ndarray:
    """What stands before a text: marks."""
    return np.full(CONTEXT, corpus.mark, dtype=np.int64)
