"""Reads ARPA files, the format in which n-gram tools exchange back-off models. backoff.py writes them.

The head gives the number of n-grams of each order. Then each order has a section with lines
'log10 P <tab> words <tab> log10 back-off'; the highest order has no back-off, and a missing back-off is 0.
"""

import gzip
import math
import re
import zlib
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.core.common.errors import InputError
from pipeline.core.common.settings import NgramSettings
from pipeline.core.common.stream import UNKNOWN
from pipeline.core.ngrams.backoff import IMPOSSIBLE, LN10, START, Backoff
from pipeline.core.ngrams.counts import NEVER, Counts, Table
from pipeline.core.ngrams.model import Source

GZIP = b"\x1f\x8b"  # the first bytes of a gzip file
SPACES = re.compile(r"[ \t]+")  # between fields; a word may contain other spaces
ROUNDED = 0.01  # tolerance for a sum of probabilities, for rounded figures


class Section(NamedTuple):
    """The n-grams of one order."""

    words: np.ndarray  # (N, k) ids
    log_p: np.ndarray  # (N,) natural logarithm
    log_backoff: np.ndarray  # (N,) natural logarithm
    lines: np.ndarray  # (N,) line numbers in the file

    def select(self, rows: np.ndarray) -> "Section":
        """Some of the n-grams, by mask or place."""
        return Section(*(column[rows] for column in self))


def read(lines: Iterable[str], vocabulary: list[str]) -> Backoff:
    """A model over this vocabulary from the lines of an ARPA file.

    A word that is not in the file gets the probability of `<unk>`. N-grams with words outside the vocabulary, such as
    `<s>`, are left out. Raises InputError, with the line number, where the lines are no ARPA file, or where the
    probabilities of the 1-grams, or of the words after a context, don't sum to 1.
    """
    size, ids = len(vocabulary), {word: number for number, word in enumerate(vocabulary)}
    ids.setdefault(UNKNOWN.upper(), ids[UNKNOWN])  # as some tools write it
    unigrams, *longer = _sections(lines, ids)
    unigram_ids = unigrams.words[:, 0]
    if not (unknown := unigram_ids == ids[UNKNOWN]).any():
        raise InputError(f"no {UNKNOWN} among its 1-grams, so words that it lacks have no probability")
    if 2 * (unigram_ids < size).sum() < size:
        raise InputError(f"it lacks most of the {size:,} words, so it is of another corpus")
    if START not in vocabulary:  # `<s>` is never predicted, whatever its line says
        unigrams.log_p[unigram_ids == ids.get(START, NEVER)] = -np.inf
    if abs(np.exp(unigrams.log_p).sum() - 1) > ROUNDED:
        raise InputError(f"its 1-grams' probabilities sum to {np.exp(unigrams.log_p).sum():.3f}, not to 1")
    missing_ids = np.setdiff1d(np.arange(len(ids)), unigram_ids)
    zeros = np.zeros(len(missing_ids), dtype=np.int64)
    missing = Section(missing_ids[:, None], zeros + unigrams.log_p[unknown][0], zeros, zeros)
    sections = [Section(*map(np.concatenate, zip(unigrams, missing, strict=True))), *longer]
    tables, ordered = _tables(sections, len(ids))
    _check_sums(tables, ordered, len(ids))
    tables, sections = _tables([section.select((section.words < size).all(1)) for section in sections], size)
    log_p, log_backoff = [section.log_p for section in sections], [section.log_backoff for section in sections[:-1]]
    return Backoff(Counts(size, 0, tables, [NEVER] * len(tables)), log_p, log_backoff)


def make(ngram: NgramSettings, source: Source) -> Backoff:
    """See model.make."""
    return read_file(Path(ngram.path), list(source.vocabulary))


def read_file(path: Path, vocabulary: list[str]) -> Backoff:
    """The model of an ARPA file, gzipped or not. Raises InputError where the file is none."""
    if not path.is_file():
        raise InputError(f"ngram.path={path}: no such file")
    with path.open("rb") as file:
        open_text = gzip.open if file.read(2) == GZIP else open
    try:
        with open_text(path, "rt", encoding="utf-8-sig") as lines:
            return read(lines, vocabulary)
    except (UnicodeDecodeError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"ngram.path={path}: not UTF-8 text, or cut short: {error}") from error
    except InputError as error:
        raise InputError(f"ngram.path={path}: not a whole ARPA file: {error}") from error


def _sections(lines: Iterable[str], ids: dict[str, int]) -> list[Section]:
    """The section of each order. ids: of the vocabulary, to which the other words of the file are added."""
    numbered = ((number, text) for number, line in enumerate(lines, 1) if (text := line.strip(" \t\r\n")))
    if not any(text == "\\data\\" for _, text in numbered):
        raise InputError("no \\data\\ in it")
    sizes, sections, ended = [], [], (0, "the end of the file")
    number, text = next(numbered, ended)
    while size := re.fullmatch(r"ngram\s+\d+\s*=\s*(\d+)", text):
        sizes.append(int(size[1]))
        number, text = next(numbered, ended)
    for k, size in enumerate(sizes, start=1):
        _check_due(text, f"\\{k}-grams:", number)
        sections.append(_section(islice(numbered, size), k, ids))
        number, text = next(numbered, ended)
    _check_due(text, "\\end\\" if sizes else "ngram 1=", number)
    return sections


def _check_due(text: str, due: str, number: int) -> None:
    if text != due:
        raise InputError(f"line {number}: {text[:60]!r} where {due} is due, by the sizes that the head names")


def _section(numbered: Iterable[tuple[int, str]], k: int, ids: dict[str, int]) -> Section:
    """The k-grams of these lines."""
    rows = []
    for number, text in numbered:
        fields = SPACES.split(text)
        words = fields[1 : k + 1]
        try:
            p, backoff = map(float, [fields[0], *(fields[k + 1 :] or "0")])
        except ValueError:
            p = backoff = math.nan
        if len(words) < k or not p <= 0 or not abs(backoff) <= -IMPOSSIBLE:
            raise InputError(f"line {number}: not 'log10 P, {k} words, log10 back-off': {text[:60]!r}")
        rows.append(([ids.setdefault(word, len(ids)) for word in words], p, backoff, number))
    words, p, backoff, numbers = zip(*rows, strict=True) if rows else ((), (), (), ())
    words = np.array(words, dtype=np.int64).reshape(-1, k)
    return Section(words, np.array(p) * LN10, np.array(backoff) * LN10, np.array(numbers))


def _tables(sections: list[Section], size: int) -> tuple[list[Table], list[Section]]:
    """For each order that has n-grams: the table, with counts of zero, and the section, sorted as the table.

    size: number of words. Raises InputError for an n-gram whose first words have no line, or that has two lines.
    """
    tables, ordered = [], []
    for k, section in enumerate(sections):
        if not len(section.lines):
            break
        context, suffixes = _places(tables, section.words[:, :-1], size), _places(tables, section.words[:, 1:], size)
        if (context == NEVER).any():
            raise InputError(f"line {section.lines[context == NEVER][0]}: its first {k} words have no line")
        keys = context * size + section.words[:, -1]
        order = np.argsort(keys, kind="stable")
        if len(twice := order[1:][np.diff(keys[order]) == 0]):
            raise InputError(f"line {section.lines[twice[0]]}: this n-gram has a line already")
        tables.append(Table(keys[order], np.zeros(len(keys), dtype=np.int64), suffixes[order]))
        ordered.append(section.select(order))
    return tables, ordered


def _places(tables: list[Table], words: np.ndarray, size: int) -> np.ndarray:
    """The place of each n-gram (N, k) of ids in the table of its order, or NEVER."""
    place = np.zeros(len(words), dtype=np.int64)
    for table, word in zip(tables, words.T, strict=False):
        place = np.where(place == NEVER, NEVER, table.find(place * size + word))
    return place


def _check_sums(tables: list[Table], sections: list[Section], size: int) -> None:
    """Raises InputError where the probabilities of all words after a context don't sum to 1."""
    for table, shorter, section in zip(tables[1:], sections[:-1], sections[1:], strict=True):
        context, weight = table.keys // size, np.exp(shorter.log_backoff)
        listed_sum, lower_sum = (
            np.bincount(context, np.exp(p), len(weight)) for p in (section.log_p, shorter.log_p[table.suffixes])
        )
        sums = listed_sum + weight * (1 - lower_sum)  # the shorter contexts' sums are 1, as was checked before
        off = np.abs(sums - 1) > ROUNDED * weight.clip(1, 100)  # the weight multiplies the rounding errors
        off[context[table.suffixes == NEVER]] = False  # the lower-order probability of these words has no line
        if off.any():
            line, total = shorter.lines[off][0], sums[off][0]
            raise InputError(f"line {line}: the probabilities of the words after it sum to {total:.3g}, not to 1")
