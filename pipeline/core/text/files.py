"""The texts of a corpus in files: which files, in which order, and their lines."""

import random
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from pipeline.core.common.errors import UnusableError, Watcher
from pipeline.core.common.settings import Settings
from pipeline.core.common.splits import SPLITS
from pipeline.core.text.pieces import Piece, composed

LONGEST = 1 << 20  # characters of a line that are read at a time, and of a word


def texts_of(
    corpus: Settings, watch: Watcher, pieces: Callable[[Iterable[str]], Iterator[Piece]], symbols: str = ""
) -> Iterator[tuple[str, Iterator[Piece]]]:
    """Name and pieces of each text, in the order of the stream; see files.

    corpus: conf/corpus; pieces: of the lines of one text; symbols: the pattern of what a reader would misread, a symbol
    of ours. Raises UnusableError where there are no such files, and for such a symbol.
    """
    paths = files(corpus)
    watch.begin(sum(path.stat().st_size for path in paths))
    for path in paths:
        name = path.name.encode(errors="backslashreplace").decode()  # which need not be UTF-8
        read = _without(symbols, name, lines(path, corpus.encoding, watch))
        yield name, pieces(composed(read) if corpus.normalise else read)


def files(corpus: Settings) -> list[Path]:
    """The texts' files: by name or in a random order, or a file a split."""
    raw = Path(corpus.raw)
    there = sorted(path for path in raw.rglob("*") if path.is_file()) if raw.is_dir() else [raw]
    names = [path.name for path in there]
    if not any(corpus.splits.values()):
        paths = [path for path in there if path == raw or re.fullmatch(corpus.files, path.name)]
        if not paths:
            raise UnusableError("no file", key="files", pattern=corpus.files, names=names, count=0)
        if corpus.shuffle:
            random.Random(corpus.shuffle).shuffle(paths)
        return paths
    chosen = []
    for split in SPLITS:
        of_split = [path for path in there if re.fullmatch(corpus.splits[split], path.name)]
        if len(of_split) != 1:
            pattern = corpus.splits[split]
            raise UnusableError("no file", key=f"splits.{split}", pattern=pattern, names=names, count=len(of_split))
        chosen += of_split
    return chosen


def _without(symbols: str, name: str, read: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(read, start=1):
        if symbols and (held := re.search(symbols, line)):
            raise UnusableError("own symbol", file=name, line=number, symbol=held[0])
        yield line


def lines(path: Path, encoding: str, watch: Watcher) -> Iterator[str]:
    """The lines of a file, very long ones in parts. Raises UnusableError for what is not of the encoding."""
    number, rest = 1, ""
    try:
        with path.open(encoding=encoding) as file:
            while read := file.readline(LONGEST):
                watch.advance(len(read))  # about as many bytes
                line, rest = rest + read, ""
                if "\0" in read:
                    raise UnusableError("NUL", file=str(path), line=number)
                if len(read) == LONGEST and not read.endswith("\n"):
                    line, rest = _whole_words(line)
                if line:
                    yield line.replace("\ufeff", "")  # the mark of an encoding, of each file that was put together
                number += read.endswith("\n")
    except UnicodeError as error:
        if isinstance(error, UnicodeDecodeError):  # else UTF-16's own mark is not there
            number += error.object[: error.start].count(b"\n")
        raise UnusableError("encoding", file=str(path), line=number, encoding=encoding) from error
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
