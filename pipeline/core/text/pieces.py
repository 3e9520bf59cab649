"""From the text of a corpus to one stream of words with marks after paragraphs and texts (paper, section 4).

A reader turns lines into pieces of paragraphs one after the other, so that a text or paragraph may be longer than
memory. A line that is given in parts ends with the part that ends with a newline.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence

import regex

from pipeline.core.common.stream import NUMBER, PARAGRAPH, TEXT

Piece = tuple[list[str], bool]  # words, and whether a paragraph ends with them

# Of printed text words are runs of letters, their marks, and digits, apostrophes and points inside them kept (don't,
# 3.14); each other sign is a word of its own, with what is combined with it. `re` takes marks for signs.
PLAIN = regex.compile(r"[\w\p{N}]+(?:['’.,][\w\p{N}]+)*|(?!\s)\X")


def paragraphs(lines: Iterable[str], words_of: Callable[[str], list[str]]) -> Iterator[Piece]:
    """Paragraphs are runs of lines that are not blank; words_of: from a line to its words."""
    within = False
    for line in lines:
        if line.strip():
            yield words_of(line), False
        elif within:
            yield [], True
        within = bool(line.strip())
    if within:
        yield [], True


def paragraphs_by_line(lines: Iterable[str], words_of: Callable[[str], list[str]]) -> Iterator[Piece]:
    """Paragraphs are lines, and an empty line is an empty one; words_of: from a line to its words."""
    ends = True
    for line in lines:
        ends = line.endswith("\n")
        yield words_of(line), ends
    if not ends:
        yield [], True


def composed(lines: Iterable[str]) -> Iterator[str]:
    """Lines in Unicode's form NFC, in which é is one character, however it was typed."""
    return (unicodedata.normalize("NFC", line) for line in lines)


def fold(words: Sequence[str]) -> list[str]:
    """Lower case, and one symbol for every word that holds a digit; the marks are left as they are."""
    digit = re.compile(r"\d")
    return [NUMBER if digit.search(word) else word.lower() for word in words]


def stream(pieces: Iterable[Piece], marks: Sequence[str] = (PARAGRAPH, TEXT)) -> Iterator[list[str]]:
    """The words of a text, a piece at a time, with those of the two marks that are wanted."""
    for words, ends in pieces:
        yield [*words, PARAGRAPH] if ends and PARAGRAPH in marks else words
    if TEXT in marks:
        yield [TEXT]
