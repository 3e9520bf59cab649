"""What a text looks like to those who would read it otherwise: a log, subtitles, a table."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

LINES = 5000  # of a file that are looked at
MANY = 100  # lines that a paragraph of prose hardly has
TIME = re.compile(r"[\d\W]*\d{1,2}:\d{2}")  # before it digits and signs alone, as of a date
SHOWN = 30  # characters of a line in a remark
OFTEN = 0.2  # share of the lines


def remarks(file: Path, encoding: str) -> list[str]:
    """What to know before a plain text is read: a line for each thing that looks unlike prose, with the remedy."""
    with file.open(encoding=encoding, errors="replace") as opened:
        lines = [line.strip() for line in islice(opened, LINES)]
    return [remark for remark in (_paragraphs(lines), _times(lines), _columns(lines)) if remark]


def _paragraphs(lines: Sequence[str]) -> str:
    paragraphs = sum(bool(line) and not before for before, line in zip(["", *lines], lines, strict=False))
    filled = sum(map(bool, lines))
    if filled < MANY * max(paragraphs, 1):
        return ""
    return (
        f"its first {filled:,} lines are {paragraphs} paragraph{'s' * (paragraphs != 1)}: if each line is one, as in a "
        "chat, a log or a list, set corpus.format=lines"
    )


def _times(lines: Sequence[str]) -> str:
    timed = [line for line in lines if TIME.match(line)]
    if len(timed) < MANY or len(timed) < OFTEN * len(lines):
        return ""
    return (
        f"{len(timed):,} of its first {len(lines):,} lines begin with a time, as {timed[0][:SHOWN]!r}: such words are "
        "easy to guess and make perplexities look low; take them out"
    )


def _columns(lines: Sequence[str]) -> str:
    for sign, name in ((",", "commas"), ("\t", "tabs"), (";", "semicolons")):
        counts = Counter(line.count(sign) for line in lines if line)
        number, lines_with = max(counts.items(), key=lambda item: item[1], default=(0, 0))
        if number >= 2 and lines_with >= MANY and lines_with > 0.8 * len(lines):
            lines_of_all = f"{lines_with:,} of its first {len(lines):,} lines"
            return f"{lines_of_all} have {number} {name}: if it is a table, give its column of text alone"
    return ""
