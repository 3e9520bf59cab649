"""The texts of a corpus in files: which files, in which order, and their lines."""

import random
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from pipeline.core.common.errors import InputError, MissingTextError, Watcher
from pipeline.core.common.settings import CorpusSettings
from pipeline.core.common.stream import SPLITS
from pipeline.core.text.pieces import Piece, composed

LONGEST = 1 << 20  # characters of a line that are read at a time, and of a word

PACKED = "texts.zip"  # the one file of a packed corpus


def texts_of(
    corpus: CorpusSettings, watch: Watcher, pieces: Callable[[Iterable[str]], Iterator[Piece]], symbols: str = ""
) -> Iterator[tuple[str, Iterator[Piece]]]:
    """Name and pieces of each text, in the order of the stream; see files.

    corpus: conf/corpus; pieces: of the lines of one text; symbols: the pattern of what a reader would misread, a symbol
    of ours. Raises InputError where there are no such files, and for such a symbol.
    """
    paths = files(corpus)
    watch.begin(sum(path.stat().st_size for path in paths))
    for path in paths:
        name = path.name.encode(errors="backslashreplace").decode()  # which need not be UTF-8
        read = _without(symbols, name, lines(path, corpus.encoding, watch))
        yield name, pieces(composed(read) if corpus.normalise else read)


def files(corpus: CorpusSettings) -> list[Path]:
    """The texts' files: by name or in a random order, or a file a split."""
    raw = Path(corpus.raw)
    there = sorted(path for path in raw.rglob("*") if path.is_file()) if raw.is_dir() else [raw]
    names = [path.name for path in there]
    if not any(corpus.splits.values()):
        paths = [path for path in there if path == raw or re.fullmatch(corpus.files, path.name)]
        if not paths:
            raise MissingTextError(f"0 files match corpus.files={corpus.files}; there: {_few(names)}")
        if corpus.shuffle:
            random.Random(corpus.shuffle).shuffle(paths)
        return paths
    chosen = []
    for split in SPLITS:
        of_split = [path for path in there if re.fullmatch(corpus.splits[split], path.name)]
        if len(of_split) != 1:
            wanted = f"corpus.splits.{split}={corpus.splits[split]}"
            raise MissingTextError(f"{len(of_split)} files match {wanted}; there: {_few(names)}")
        chosen += of_split
    return chosen


def _few(names: list[str]) -> str:
    return ", ".join(names[:5]) + ", ..." * (len(names) > 5) or "nothing"


def _without(symbols: str, name: str, read: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(read, start=1):
        if symbols and (held := re.search(symbols, line)):
            raise InputError(
                f"{name}, line {number}: {held[0]} is a symbol of this project: take it out, or give another word in "
                "its place; rare words in tokenised text may be <unk> (corpus.format=tokens)"
            )
        yield line


def lines(path: Path, encoding: str, watch: Watcher) -> Iterator[str]:
    """The lines of a file, very long ones in parts. Raises InputError for what is not of the encoding."""
    number, rest = 1, ""
    try:
        with path.open(encoding=encoding) as file:
            while read := file.readline(LONGEST):
                watch.advance(len(read))  # about as many bytes
                line, rest = rest + read, ""
                if "\0" in read:
                    raise InputError(
                        f"{path}, line {number}: NUL characters, as in UTF-16 without its mark: convert it, or set "
                        "corpus.encoding"
                    )
                if len(read) == LONGEST and not read.endswith("\n"):
                    line, rest = _whole_words(line)
                if line:
                    yield line.replace("\ufeff", "")  # the mark of an encoding, of each file that was put together
                number += read.endswith("\n")
    except UnicodeError as error:
        if isinstance(error, UnicodeDecodeError):  # else UTF-16's own mark is not there
            number += error.object[: error.start].count(b"\n")
        raise InputError(
            f"{path}, line {number}: not {encoding}; convert it, for example with iconv, or give corpus.encoding"
        ) from error
    if rest:
        yield rest


def _whole_words(part: str) -> tuple[str, str]:
    """The words of a part of a line, and apart the last, which may go on; one that is too long for a word is cut.

    What is left always has a word if the line had one before: its end must not look like a blank line.
    """
    words, last = ["", "", *part.rsplit(maxsplit=1)][-2:]
    if len(last) >= LONGEST:
        words, last = f"{words} {last[:-1]}", last[-1]
    return words, last + " " * part[-1].isspace()
