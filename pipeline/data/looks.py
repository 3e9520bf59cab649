"""What a text looks like to those who would read it otherwise: a log, subtitles, a table, markup, a book with its
licence."""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

FORMATS = ("plain", "lines")  # of corpora whose text is looked at
LINES = 5000  # of a text that are looked at
MANY = 100  # lines that a paragraph of prose hardly has
# A time at the beginning of a line. Before it stand digits and signs, and two words at most: those of a date.
TIME = re.compile(r"[\d\W]*(?:[^\W\d]{1,9}[\d\W]+){0,2}\d{1,2}:\d{2}")
MARKUP = re.compile(r"[\[{]*\{\s*\"|.*</\w+>")  # of JSON at the beginning, of HTML and XML anywhere
LICENCE = re.compile(
    r"\*\*\* ?START OF (?:TH(?:E|IS) )?PROJECT GUTENBERG|SMALL PRINT! FOR PUBLIC DOMAIN", re.IGNORECASE
)
BEGINNING = 80  # characters of a line in which its time stands
SHOWN = 30  # characters of a line in a remark
OFTEN = 0.2  # share of the lines
MOSTLY = 0.6  # share of the lines that one word begins
TABLE = 0.8  # share of the lines that have the same number of columns
EASY = "such words are easy to guess and make perplexities look low"


def remarks(files: Sequence[Path], encoding: str, form: str) -> list[str]:
    """What to know before a text is read: a line for each thing that looks unlike prose, with the remedy.

    files: of the text; form: the format of its corpus; nothing is said of formats that are not in FORMATS.
    """
    if form not in FORMATS:
        return []
    lines = list(islice(_lines(files, encoding), LINES))
    paragraphs = _paragraphs(lines) if form == "plain" else ""
    beginnings = _times(lines) or _beginnings(lines)
    signs = _markup(lines) or _columns(lines)
    return [remark for remark in (paragraphs, beginnings, signs, _licence(lines)) if remark]


def _lines(files: Sequence[Path], encoding: str) -> Iterator[str]:
    """The lines of files, with a blank one between two files."""
    for number, file in enumerate(sorted(files)):
        if number:
            yield ""
        with file.open(encoding=encoding, errors="replace") as opened:
            yield from (line.strip() for line in opened)


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
    timed = [line for line in lines if TIME.match(line[:BEGINNING])]
    if len(timed) < MANY or len(timed) < OFTEN * len(lines):
        return ""
    subtitles = sum("-->" in line for line in timed) > MOSTLY * len(timed)
    remedy = " and their numbers, as by `grep -vE '^[0-9]+.?$|-->'`" if subtitles else ""
    return f"{_share(timed, lines)} begin with a time, as {timed[0][:SHOWN]!r}: {EASY}; take them out{remedy}"


def _beginnings(lines: Sequence[str]) -> str:
    """Of a log without times, or of subtitles in which each line names its kind."""
    words = Counter(line.split(maxsplit=1)[0] for line in lines if line)
    word, times = max(words.items(), key=lambda item: item[1], default=("", 0))
    if times < MANY or times < MOSTLY * words.total() or not any(map(str.isalnum, word)):
        return ""
    return f"{times:,} of its first {words.total():,} lines begin with {word[:SHOWN]!r}: {EASY}; take them out"


def _markup(lines: Sequence[str]) -> str:
    marked = [line for line in lines if MARKUP.match(line)]
    if len(marked) < MANY or len(marked) < OFTEN * len(lines):
        return ""
    return f"{_share(marked, lines)} have signs of HTML, XML or JSON, as {marked[0][:SHOWN]!r}: give the text alone"


def _columns(lines: Sequence[str]) -> str:
    for sign, name in ((",", "commas"), ("\t", "tabs"), (";", "semicolons")):
        quoting = csv.QUOTE_NONE if sign == "\t" else csv.QUOTE_MINIMAL
        try:
            rows = Counter(map(len, csv.reader(filter(None, lines), delimiter=sign, quoting=quoting)))
        except csv.Error:  # such as for a very long line
            continue
        columns, times = max(rows.items(), key=lambda item: item[1], default=(0, 0))
        if columns > 1 and times >= MANY and times > TABLE * rows.total():
            rows_of_all = f"{times:,} of its first {rows.total():,} lines"
            return (
                f"{rows_of_all} have {columns} columns between {name}: if it is a table, give its column of text alone"
            )
    return ""


def _licence(lines: Sequence[str]) -> str:
    if not any(map(LICENCE.search, lines)):
        return ""
    return (
        "it holds the licence of Project Gutenberg, which would be most of test in a short book: keep the text between "
        "the lines *** START OF and *** END OF alone"
    )


def _share(part: Sequence[str], lines: Sequence[str]) -> str:
    return f"{len(part):,} of its first {len(lines):,} lines"
