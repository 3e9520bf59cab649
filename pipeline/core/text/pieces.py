"""From the text of a corpus to one stream of words with marks after paragraphs and texts (paper, section 4).

A reader turns lines into pieces of paragraphs, one after the other, so that a text or paragraph need not fit in memory.
A long line comes in parts; its last part ends with a newline.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence

import regex

from pipeline.core.common.stream import NUMBER, PARAGRAPH, TEXT

Piece = tuple[list[str], bool]  # words, and whether a paragraph ends with them

# A word is a run of letters, combining marks and digits, with apostrophes, points, commas, underscores and joiners
# inside it (don't, 3.14, snake_case). Every other sign is a word, together with its combining marks; underscores around
# a word are those of emphasis, and no word. (`re` would take combining marks for signs.)
JOINERS = "\u200c\u200d"  # they say how the letters of a word are drawn
LETTER = rf"(?![_{JOINERS}])[\w\p{{N}}]"
PLAIN = regex.compile(rf"(?:{LETTER})+(?:(?:['’.,]|_+|[{JOINERS}]+)(?:{LETTER})+)*|(?![\s_{JOINERS}])\X")
EMPHASIS = regex.compile(r"(?<![^\W_])_+|_+(?![^\W_])")
# Characters of Unicode's general category Cf that are drawn as nothing: soft hyphens, byte order marks, directions of
# writing. Joiners, and the tags of flags, are part of what they stand in.
INVISIBLE = regex.compile(
    rf"(?V1)[\p{{Default_Ignorable_Code_Point}}&&\p{{Cf}}--[{JOINERS}\u200b\U000E0020-\U000E007F]]"
)


def visible(text: str) -> str:
    """A text without the signs that nobody sees; a zero-width space is a space."""
    return text if text.isascii() else INVISIBLE.sub("", text.replace("\u200b", " "))


def paragraphs(lines: Iterable[str], words_of: Callable[[str], list[str]]) -> Iterator[Piece]:
    """Pieces of paragraphs that blank lines separate; words_of: from a line to its words."""
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
    """Pieces of paragraphs of one line each, also of empty lines; words_of: from a line to its words."""
    ends = True
    for line in lines:
        ends = line.endswith("\n")
        yield words_of(line), ends
    if not ends:
        yield [], True


def composed(lines: Iterable[str]) -> Iterator[str]:
    """Lines in Unicode's form NFC, in which é is always one character."""
    return (unicodedata.normalize("NFC", line) for line in lines)


def fold(words: Sequence[str]) -> list[str]:
    """Words in lower case, and one symbol for all words with a digit; the marks do not change."""
    digit = re.compile(r"\d")
    return [NUMBER if digit.search(word) else word.lower() for word in words]


def stream(pieces: Iterable[Piece], marks: Sequence[str] = (PARAGRAPH, TEXT)) -> Iterator[list[str]]:
    """The words of a text, one piece at a time, with `marks` after paragraphs and texts."""
    for words, ends in pieces:
        yield [*words, PARAGRAPH] if ends and PARAGRAPH in marks else words
    if TEXT in marks:
        yield [TEXT]
