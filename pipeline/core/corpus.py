"""From the text of a corpus to one stream of words with marks after paragraphs and texts (paper, section 4).

A reader turns lines into paragraphs one after the other, so that a text may be longer than memory.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from pipeline.core.symbols import NUMBER, PARAGRAPH, TEXT

Paragraph = list[str]


def brown_paragraphs(lines: Iterable[str]) -> Iterator[Paragraph]:
    """The words of one Brown file in Form C, 'word/tag' a word, sentences a line, blank lines between paragraphs.

    The tag stands behind the last slash: '1/2/cd' is the word '1/2'.
    """
    return (re.findall(r"(\S+)/\S+", block) for block in _blocks(lines))


def plain_paragraphs(lines: Iterable[str]) -> Iterator[Paragraph]:
    """The words of plain text, blank lines between paragraphs: runs of letters and digits, apostrophes and points
    inside them kept (don't, 3.14); each other sign is a word of its own."""
    return (re.findall(r"\w+(?:['’.,]\w+)*|[^\w\s]", block) for block in _blocks(lines))


def tokenised_paragraphs(lines: Iterable[str]) -> Iterator[Paragraph]:
    """A line a paragraph, words apart by white space; an empty line is an empty paragraph."""
    return (line.split() for line in lines)


def _blocks(lines: Iterable[str]) -> Iterator[str]:
    """Runs of lines that are not blank."""
    block: list[str] = []
    for line in lines:
        if line.strip():
            block.append(line)
        elif block:
            yield "".join(block)
            block = []
    if block:
        yield "".join(block)


def fold(words: Sequence[str]) -> list[str]:
    """Lower case, and one symbol for every word that holds a digit; the marks are left as they are."""
    digit = re.compile(r"\d")
    return [NUMBER if digit.search(word) else word.lower() for word in words]


def stream(paragraphs: Iterable[Paragraph], marks: Sequence[str] = (PARAGRAPH, TEXT)) -> Iterator[list[str]]:
    """The words of a text, a paragraph at a time, with those of the two marks that are wanted."""
    for paragraph in paragraphs:
        yield [*paragraph, PARAGRAPH] if PARAGRAPH in marks else paragraph
    if TEXT in marks:
        yield [TEXT]
