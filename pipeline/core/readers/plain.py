"""Plain text with blank lines between paragraphs."""

from collections.abc import Iterable, Iterator
from functools import partial

from pipeline.core.common.stream import UNKNOWN
from pipeline.core.text.files import texts_of
from pipeline.core.text.pieces import PLAIN, Piece, paragraphs


def pieces(lines: Iterable[str]) -> Iterator[Piece]:
    """Words and ends of paragraphs of one text."""
    return paragraphs(lines, PLAIN.findall)


texts = partial(texts_of, pieces=pieces, symbols=UNKNOWN)
