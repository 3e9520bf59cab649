"""Reads files from a zip, a tar or a folder by name, without writing them to disk; and packs files into a zip."""

import lzma
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from pipeline.core.common.errors import InputError


def read(source: Path, names: str) -> dict[str, bytes]:
    """The contents of some files of an archive or folder, or of the file itself. A file packed by xz is unpacked.

    names: a regular expression that matches the end of a file's path, from the beginning of a name on. This end is the
    key of the file. Raises InputError if the source is missing or damaged.
    """
    if not (source.is_file() or source.is_dir()):  # such as a pipe, on which reading would wait
        raise InputError(f"{source}: no such file or folder")
    pattern = re.compile(rf"(?:.*/)?(?P<name>{names})(?P<packed>\.xz)?")
    texts = {}
    try:
        for path, load in _files(source):
            if match := pattern.fullmatch(path):
                texts[match["name"]] = lzma.decompress(load()) if match["packed"] else load()
    except Exception as error:  # each kind of damage raises an exception of its own
        raise InputError(f"{source}: can't be read, damaged or cut short: {error}") from error
    return texts


def pack(texts: dict[str, bytes], path: Path) -> None:
    """Writes all texts into one zip. The same texts give the same bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(texts):
            archive.writestr(zipfile.ZipInfo(name), texts[name], zipfile.ZIP_DEFLATED)


def _files(source: Path) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """The path of each file in a source, and a function that reads it."""
    if source.is_dir():
        for path in sorted(source.rglob("*")):
            if path.is_file():
                yield path.relative_to(source).as_posix(), path.read_bytes
    elif zipfile.is_zipfile(source):
        with zipfile.ZipFile(source) as archive:
            for name in archive.namelist():
                yield name, partial(archive.read, name)
    elif tarfile.is_tarfile(source):
        with tarfile.open(source) as archive:
            for member in archive:
                if member.isfile():
                    yield member.name, archive.extractfile(member).read
    else:
        yield source.name, source.read_bytes
