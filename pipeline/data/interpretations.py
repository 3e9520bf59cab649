"""From the words of a corpus's texts to the stream of an interpretation (conf/streams.yaml)."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby

from pipeline.config.streams import Interpretation
from pipeline.core.common.stream import NUMBER
from pipeline.core.text.build import MARKS
from pipeline.core.text.pieces import Piece, stream

SENTENCE = "<s>"  # after each sentence, where its mark is wanted
DOUBLED = {";", "?", "!"}  # the signs that Form C writes twice, as two words
NUMBERS = {"merged": r"[$%\d.,/:-]*\d[$%\d.,/:-]*", "words with a digit merged": r".*\d.*"}

# Where a word is cut, by choice, in this order. Something must stand before the place: the word 's alone is one word.
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


def words_of(texts: Iterable[Iterable[Piece]], chosen: Interpretation) -> Iterator[list[str]]:
    """The stream's words, a sentence at a time, with the marks that are wanted.

    texts: the pieces of each text, a sentence a piece, as the reader of the corpus gives them.
    """
    marks = [MARKS[name] for name in chosen.marks if name in MARKS]
    parts = cache(lambda word: _parts(word, chosen))  # a type is cut once
    for pieces in texts:
        yield from stream(((_sentence(words, parts, chosen), ends) for words, ends in pieces), marks)


def _sentence(words: Sequence[str], parts: Callable[[str], list[str]], chosen: Interpretation) -> list[str]:
    """The words that a sentence of the texts becomes; none for the end of a paragraph, a piece without words."""
    if chosen.doubled_signs == "single":
        words = _single(words)
    sentence = [part for word in words for part in parts(word)]
    if chosen.case == "lower at sentence starts":
        first = next((place for place, word in enumerate(sentence) if _has_letter(word)), 0)  # behind ``, for one
        sentence[first : first + 1] = [word.lower() for word in sentence[first : first + 1]]
    if sentence and "sentence" in chosen.marks:
        sentence.append(SENTENCE)
    return sentence


def _single(words: Sequence[str]) -> list[str]:
    """A pair of equal signs becomes one sign, a run of four becomes two."""
    runs = [(sign, len(list(run))) for sign, run in groupby(words)]
    return [sign for sign, length in runs for _ in range((length + 1) // 2 if sign in DOUBLED else length)]


def _has_letter(word: str) -> bool:
    return word != NUMBER and any(map(str.isalpha, word))


def _parts(word: str, chosen: Interpretation) -> list[str]:
    """The words that a word of the texts becomes."""
    parts = [word]
    for choice, places in CUTS.items():
        if place := places.get(getattr(chosen, choice)):
            parts = [piece for part in parts for piece in re.split(place, part, flags=re.IGNORECASE)]
    if chosen.numbers != "kept":
        parts = [NUMBER if re.fullmatch(NUMBERS[chosen.numbers], part) else part for part in parts]
    return [part.lower() for part in parts] if chosen.case == "lower" else parts
