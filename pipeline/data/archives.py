"""Files out of a zip, a tar or a folder, by name, without writing any of them to disk; and into a zip."""

import lzma
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from pipeline.core.common.errors import InputError


def read(source: Path, wanted: str) -> dict[str, bytes]:
    """The wanted files of an archive or folder, or the file itself; what xz alone has packed, unpacked.

    wanted: a regular expression of the ends of their paths, from the beginning of a name on, which are the keys.
    Raises InputError for what is damaged, or is not there.
    """
    if not (source.is_file() or source.is_dir()):  # such as a pipe, which would be waited for
        raise InputError(f"{source}: no such file or folder")
    pattern = re.compile(rf"(?:.*/)?(?P<name>{wanted})(?P<packed>\.xz)?")
    texts = {}
    try:
        for path, load in _files(source):
            if match := pattern.fullmatch(path):
                texts[match["name"]] = lzma.decompress(load()) if match["packed"] else load()
    except Exception as error:  # each kind of damage has its own
        raise InputError(f"{source}: can't be read, damaged or cut short: {error}") from error
    return texts


def pack(texts: dict[str, bytes], path: Path) -> None:
    """One zip of all texts, the same bytes for the same texts."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(texts):
            archive.writestr(zipfile.ZipInfo(name), texts[name], zipfile.ZIP_DEFLATED)


def _files(source: Path) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Path and reader of each file inside, one after the other."""
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
