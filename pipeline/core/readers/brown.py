"""Brown in Form C: one file per text, words as 'word/tag', one sentence per line, blank lines between paragraphs."""

import re
from collections.abc import Iterable, Iterator
from functools import partial

from pipeline.core.text.files import texts_of
from pipeline.core.text.pieces import Piece, paragraphs

TAGGED = re.compile(r"(\S+)/\S+")  # the tag is after the last slash: '1/2/cd' is the word '1/2'


def pieces(lines: Iterable[str]) -> Iterator[Piece]:
    """Words and ends of paragraphs of one file."""
    return paragraphs(lines, TAGGED.findall)


texts = partial(texts_of, pieces=pieces)
