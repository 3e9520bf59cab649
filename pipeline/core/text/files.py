"""The files of a corpus: their choice, their order, and their lines."""

import random
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from pipeline.core.common.errors import InputError, MissingTextError, Watcher
from pipeline.core.common.settings import CorpusSettings
from pipeline.core.common.stream import SPLITS
from pipeline.core.text.pieces import Piece, composed, visible

LONGEST = 1 << 20  # characters of a line read at a time; the longest word

PACKED = "texts.zip"  # the one file of a packed corpus


def texts_of(
    corpus: CorpusSettings, watch: Watcher, pieces: Callable[[Iterable[str]], Iterator[Piece]], symbols: str = ""
) -> Iterator[tuple[str, Iterator[Piece]]]:
    """Name and pieces of each text, in the order of the stream; see files.

    corpus: conf/corpus; pieces: from the lines of a text to its pieces; symbols: a pattern of our symbols, which may
    not occur in the texts. Raises InputError where there are no files of the corpus, or where such a symbol occurs.
    """
    paths = files(corpus)
    watch.begin(sum(path.stat().st_size for path in paths))
    for path in paths:
        name = path.name.encode(errors="backslashreplace").decode()  # names need not be UTF-8
        text = _without(symbols, name, lines(path, corpus.encoding, watch))
        yield name, pieces(composed(text) if corpus.normalise else text)


def files(corpus: CorpusSettings) -> list[Path]:
    """The files of the texts: ordered by name or at random, or one file for each split."""
    raw = Path(corpus.raw)
    candidates = sorted(path for path in raw.rglob("*") if path.is_file()) if raw.is_dir() else [raw]
    names = [path.name for path in candidates]
    if not any(corpus.splits.values()):
        paths = [path for path in candidates if path == raw or re.fullmatch(corpus.files, path.name)]
        if not paths:
            raise MissingTextError(f"0 files match corpus.files={corpus.files}; there: {_few(names)}")
        if corpus.shuffle:
            random.Random(corpus.shuffle).shuffle(paths)
        return paths
    chosen = []
    for split in SPLITS:
        of_split = [path for path in candidates if re.fullmatch(corpus.splits[split], path.name)]
        if len(of_split) != 1:
            setting = f"corpus.splits.{split}={corpus.splits[split]}"
            raise MissingTextError(f"{len(of_split)} files match {setting}; there: {_few(names)}")
        chosen += of_split
    return chosen


def _few(names: list[str]) -> str:
    return ", ".join(names[:5]) + ", ..." * (len(names) > 5) or "nothing"


def _without(symbols: str, name: str, text: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(text, start=1):
        if symbols and (symbol := re.search(symbols, line)):
            raise InputError(
                f"{name}, line {number}: {symbol[0]} is a symbol of this project: take it out, or give another word in "
                "its place; rare words in tokenised text may be <unk> (corpus.format=tokens)"
            )
        yield line


def lines(path: Path, encoding: str, watch: Watcher) -> Iterator[str]:
    """The lines of a file, very long ones in parts. Raises InputError where the file does not have this encoding."""
    number, tail = 1, ""
    try:
        with path.open(encoding=encoding) as file:
            while part := file.readline(LONGEST):
                watch.advance(len(part))  # about as many bytes
                line, tail = tail + part, ""
                if "\0" in part:
                    raise InputError(
                        f"{path}, line {number}: NUL characters, as in UTF-16 without its mark: convert it, or set "
                        "corpus.encoding"
                    )
                if len(part) == LONGEST and not part.endswith("\n"):
                    line, tail = _whole_words(line)
                if line:
                    yield visible(line)
                number += part.endswith("\n")
    except UnicodeError as error:
        if isinstance(error, UnicodeDecodeError):  # else UTF-16 without its byte order mark
            number += error.object[: error.start].count(b"\n")
        raise InputError(
            f"{path}, line {number}: not {encoding}; convert it, for example with iconv, or give corpus.encoding"
        ) from error
    if tail:
        yield visible(tail)


def _whole_words(part: str) -> tuple[str, str]:
    """Splits a part of a line into its words and the last word, which may go on. A last word of LONGEST characters or
    more is cut.

    The second string is never blank if the part has a word: the end of the line must not look like a blank line.
    """
    words, last = ["", "", *part.rsplit(maxsplit=1)][-2:]
    if len(last) >= LONGEST:
        words, last = f"{words} {last[:-1]}", last[-1]
    return words, last + " " * part[-1].isspace()
