"""From the text of a corpus to one stream of words with marks after paragraphs and texts (paper, section 4)."""

import re
from collections.abc import Iterable, Sequence

from pipeline.core.symbols import NUMBER, PARAGRAPH, TEXT

Paragraph = list[str]


def brown_paragraphs(text: str) -> list[Paragraph]:
    """The words of one Brown file in Form C, 'word/tag' a word, sentences a line, blank lines between paragraphs.

    The tag stands behind the last slash: '1/2/cd' is the word '1/2'.
    """
    return [re.findall(r"(\S+)/\S+", block) for block in _blocks(text)]


def plain_paragraphs(text: str) -> list[Paragraph]:
    """The words of plain text, blank lines between paragraphs: runs of letters and digits, apostrophes and points
    inside them kept (don't, 3.14); each other sign is a word of its own."""
    return [re.findall(r"\w+(?:['’.,]\w+)*|[^\w\s]", block) for block in _blocks(text)]


def _blocks(text: str) -> list[str]:
    return [block for block in re.split(r"\n\s*\n", text) if block.strip()]


def fold(words: Sequence[str]) -> list[str]:
    """Lower case, and one symbol for every word that holds a digit; the marks are left as they are."""
    digit = re.compile(r"\d")
    return [NUMBER if digit.search(word) else word.lower() for word in words]


def stream(texts: Iterable[Sequence[Paragraph]]) -> tuple[list[str], list[int]]:
    """One stream of words, a mark after each paragraph and each text.

    Returns the words and, for each text, the place behind its last token.
    """
    words: list[str] = []
    ends: list[int] = []
    for paragraphs in texts:
        for paragraph in paragraphs:
            words += paragraph
            words.append(PARAGRAPH)
        words.append(TEXT)
        ends.append(len(words))
    return words, ends
