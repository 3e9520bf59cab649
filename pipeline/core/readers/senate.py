"""Press releases of US senators (Grimmer 2010), packed in one zip file: which are usable, their order, their words. A
release is one paragraph.

The source lost the punctuation of nearly half of them, so a text is used only where punctuation is as frequent as in
prose.
"""

import hashlib
import re
import zipfile
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from pathlib import Path

from pipeline.core.common.errors import InputError, Watcher
from pipeline.core.common.settings import CorpusSettings
from pipeline.core.text.files import PACKED
from pipeline.core.text.pieces import Piece, paragraphs

WORDS = re.compile(r"\d+(?:[.,]\d+)*\w*|\w+(?:['’]\w+)*|[^\w\s]")
PATH = re.compile(r"raw/(?P<senator>[^/]+)/(?P<day>\d{1,2}[A-Za-z]{3}\d{4})[^/]*\.txt")
SHORTEST = 50  # words
SIGNS, ENDS, COMMAS = 0.05, 0.02, 0.015  # per word; a text must have more: ends and commas together, ends, commas


def texts(corpus: CorpusSettings, watch: Watcher) -> Iterator[tuple[str, list[Piece]]]:
    """The usable releases in order of day, senator and file, without duplicates. Raises InputError for a release that
    can't be decoded."""
    packed, digests = Path(corpus.raw, PACKED), set()
    with zipfile.ZipFile(packed) as archive:
        dated = sorted(filter(None, map(origin, archive.namelist())))
        watch.begin(sum(archive.getinfo(name).file_size for _, _, name in dated))
        for _, senator, name in dated:
            content = archive.read(name)
            watch.advance(len(content))
            try:
                text = " ".join(decoded(content, corpus.encoding).split())
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{packed}, {name}: neither UTF-8 nor {corpus.encoding}; corpus.encoding=latin-1 reads every text"
                ) from error
            digest = hashlib.sha256(text.encode()).digest()
            if digest not in digests and usable(text):
                digests.add(digest)
                yield f"{senator}/{Path(name).stem}", [(words_of(text), True)]


def pieces(lines: Iterable[str]) -> Iterator[Piece]:
    """Words and ends of paragraphs of one text, with blank lines between paragraphs."""
    return paragraphs(lines, words_of)


def origin(path: str) -> tuple[date, str, str] | None:
    """Day, senator and file of a text, the key for sorting; None for a file that is no senator's release."""
    parts = PATH.fullmatch(path)
    if not parts or parts["senator"].startswith("Senate"):
        return None
    try:
        day = datetime.strptime(parts["day"], "%d%b%Y").date()
    except ValueError:
        return None
    return day, parts["senator"], path


def decoded(content: bytes, encoding: str) -> str:
    """The text, decoded as UTF-8 (some 1,500 texts), else by `encoding`; Latin-1 never fails."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode(encoding)


def words_of(text: str) -> list[str]:
    """Numbers, words (with inner apostrophes), and every other sign as a word."""
    return WORDS.findall(text)


def usable(text: str) -> bool:
    """Whether a text is long enough and has its punctuation; words are here separated by white space."""
    words = len(text.split())
    commas, ends = text.count(","), sum(map(text.count, ".!?"))
    return words >= SHORTEST and commas + ends > SIGNS * words and ends > ENDS * words and commas > COMMAS * words
