"""A user's text as the ids of a corpus."""

from itertools import chain

import numpy as np

from pipeline.core.corpus import plain_paragraphs, stream, tokenised_paragraphs
from pipeline.core.errors import InputError
from pipeline.store import Corpus

CONTEXT = 32  # marks before a text: more than any model looks back


def words_of(text: str, corpus: Corpus, tokens: bool = False) -> list[str]:
    """The words of a text, with a mark after each paragraph and at its end.

    tokens: the text is tokenised, words apart by white space, a paragraph a line. Abbreviations that the corpus keeps
    whole, such as "Mr.", stay whole. Raises InputError where there are no words.
    """
    if tokens:
        paragraphs = [words for words in tokenised_paragraphs(text.splitlines()) if words]
    else:
        whole = abbreviations(corpus)
        paragraphs = [_join(paragraph, whole) for paragraph in plain_paragraphs(text.splitlines(True))]
    if not paragraphs:
        raise InputError("no words in the text")
    return list(chain.from_iterable(stream(paragraphs)))


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
    """Ids (T,); 0, `<unk>`, for a word that the vocabulary does not hold."""
    place = {word: k for k, word in enumerate(corpus.vocabulary)}
    if not any(word != word.lower() for word in corpus.vocabulary):  # a corpus without capitals
        words = [word if word in place else word.lower() for word in words]
    return np.array([place.get(word, 0) for word in words], dtype=np.int64)


def before(corpus: Corpus) -> np.ndarray:
    """What stands before a text: marks."""
    return np.full(CONTEXT, corpus.mark, dtype=np.int64)
