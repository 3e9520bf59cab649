"""Tokenised text, words separated by white space, one paragraph per line; an empty line is an empty paragraph."""

from collections.abc import Iterable, Iterator
from functools import partial

from pipeline.core.common.stream import PARAGRAPH, TEXT
from pipeline.core.text.files import texts_of
from pipeline.core.text.pieces import Piece, paragraphs_by_line


def pieces(lines: Iterable[str]) -> Iterator[Piece]:
    """Words and ends of paragraphs of one text."""
    return paragraphs_by_line(lines, str.split)


texts = partial(texts_of, pieces=pieces, symbols=rf"(?<!\S)(?:{PARAGRAPH}|{TEXT})(?!\S)")
