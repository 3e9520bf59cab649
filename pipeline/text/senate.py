"""Press releases of US senators (Grimmer 2010): which of them are usable text, their order, and their words.

Upstream lost the punctuation of nearly half of them, so a text is kept only where its signs are as frequent as in
prose.
"""

import re
from datetime import date, datetime

WORDS = re.compile(r"\d+(?:[.,]\d+)*\w*|\w+(?:['’]\w+)*|[^\w\s]")
PATH = re.compile(r"raw/(?P<senator>[^/]+)/(?P<day>\d{1,2}[A-Za-z]{3}\d{4})[^/]*\.txt")
SHORTEST = 50  # words
SIGNS, ENDS, COMMAS = 0.05, 0.02, 0.015  # a word, more than which a text must have: both together, and each


def origin(path: str) -> tuple[date, str, str] | None:
    """Day, senator and file of a text, by which they are sorted; None for what is no senator's release."""
    found = PATH.fullmatch(path)
    if not found or found["senator"].startswith("Senate"):
        return None
    try:
        day = datetime.strptime(found["day"], "%d%b%Y").date()
    except ValueError:
        return None
    return day, found["senator"], path


def decoded(content: bytes, encoding: str) -> str:
    """A text of UTF-8, as some 1,500 are, or else of the encoding given; Latin-1 never fails."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode(encoding)


def words_of(text: str) -> list[str]:
    """Numbers, words with an inner apostrophe whole, each other sign alone."""
    return WORDS.findall(text)


def usable(text: str) -> bool:
    """Whether a text is long enough and its punctuation intact; words, here, are what stands between white space."""
    words = len(text.split())
    commas, ends = text.count(","), sum(map(text.count, ".!?"))
    return words >= SHORTEST and commas + ends > SIGNS * words and ends > ENDS * words and commas > COMMAS * words
