"""From the words of a corpus to the stream of an interpretation (conf/streams.yaml)."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby

from pipeline.config.streams import Interpretation
from pipeline.core.common.stream import NUMBER
from pipeline.core.text.build import MARKS
from pipeline.core.text.pieces import Piece, stream

SENTENCE = "<s>"  # mark after each sentence, if the interpretation has such marks
DOUBLED = {";", "?", "!"}  # the signs that Form C writes twice, as two words
NUMBERS = {"merged": r"[$%\d.,/:-]*\d[$%\d.,/:-]*", "words with a digit merged": r".*\d.*"}

# The places at which a word is cut, by choice, in this order. A cut needs a letter before it: the word 's is one word.
CUTS = {
    "number_signs": {
        "split": r"(?<=\d)(?=[^\w-])|(?<=[^\w-])(?=\d)",
        "split, hyphens too": r"(?<=\d)(?=[^\w])|(?<=[^\w])(?=\d)",
    },
    "points": {"split": r"(?<=[A-Za-z])(?=\.)|(?<=\.)(?=[A-Za-z])"},
    "contractions": {"split": r"(?<=.)(?=(?:n't|'ll|'re|'ve|'m|'d)$)"},
    "possessives": {"'s split": r"(?<=.)(?='s$)", "'s and ' split": r"(?<=.)(?='s$)|(?<=s)(?='$)"},
    "hyphens": {"split": r"(?<=\w)(?=-\w)|(?<=\w-)(?=\w)", "dropped": r"(?<=\w)-(?=\w)"},
}


def words_of(texts: Iterable[Iterable[Piece]], interpretation: Interpretation) -> Iterator[list[str]]:
    """The words of the stream, one sentence at a time, with the marks of the interpretation.

    texts: for each text its pieces, one per sentence, as the reader of the corpus yields them.
    """
    marks = [MARKS[name] for name in interpretation.marks if name in MARKS]
    parts = cache(lambda word: _parts(word, interpretation))  # a type is cut once
    for pieces in texts:
        yield from stream(((_sentence(words, parts, interpretation), ends) for words, ends in pieces), marks)


def _sentence(words: Sequence[str], parts: Callable[[str], list[str]], interpretation: Interpretation) -> list[str]:
    """The words of a sentence in the stream. The end of a paragraph is a piece without words, and gives none."""
    if interpretation.doubled_signs == "single":
        words = _single(words)
    sentence = [part for word in words for part in parts(word)]
    if interpretation.case == "lower at sentence starts":
        first = next((place for place, word in enumerate(sentence) if _has_letter(word)), 0)  # after ``, for example
        sentence[first : first + 1] = [word.lower() for word in sentence[first : first + 1]]
    if sentence and "sentence" in interpretation.marks:
        sentence.append(SENTENCE)
    return sentence


def _single(words: Sequence[str]) -> list[str]:
    """Halves the runs of doubled signs: two equal signs become one, four become two."""
    runs = [(sign, len(list(run))) for sign, run in groupby(words)]
    return [sign for sign, length in runs for _ in range((length + 1) // 2 if sign in DOUBLED else length)]


def _has_letter(word: str) -> bool:
    return word != NUMBER and any(map(str.isalpha, word))


def _parts(word: str, interpretation: Interpretation) -> list[str]:
    """The words in the stream for a word of the texts."""
    parts = [word]
    for choice, places in CUTS.items():
        if place := places.get(getattr(interpretation, choice)):
            parts = [piece for part in parts for piece in re.split(place, part, flags=re.IGNORECASE)]
    if interpretation.numbers != "kept":
        parts = [NUMBER if re.fullmatch(NUMBERS[interpretation.numbers], part) else part for part in parts]
    return [part.lower() for part in parts] if interpretation.case == "lower" else parts
