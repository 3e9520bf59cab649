"""Files out of a zip, a tar or a folder, by name, without writing any of them to disk."""

import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath

from pipeline.core.errors import InputError

# RuntimeError: an encrypted zip; NotImplementedError: a compression that zipfile does not know.
DAMAGE = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError)


def read(source: Path, wanted: Callable[[str], bool]) -> dict[str, bytes]:
    """The wanted files of an archive or folder: base name -> bytes.

    Raises InputError for what is neither, is damaged, or holds a path that leads outside.
    """
    try:
        with _files(source) as files:
            for name, _ in files:
                path = PurePosixPath(name.replace("\\", "/"))
                if path.is_absolute() or ".." in path.parts:
                    raise InputError(f"{source}: holds the path {name!r}, which leads outside; the archive is not used")
            return {PurePosixPath(name).name: load() for name, load in files if wanted(PurePosixPath(name).name)}
    except DAMAGE as error:
        raise InputError(f"{source}: can't be read, damaged or cut short: {error}") from error


@contextmanager
def _files(source: Path) -> Iterator[list[tuple[str, Callable[[], bytes]]]]:
    """Name and reader of each file, while the archive is open."""
    if source.is_dir():
        paths = (path for path in sorted(source.rglob("*")) if path.is_file())
        yield [(path.relative_to(source).as_posix(), path.read_bytes) for path in paths]
    elif zipfile.is_zipfile(source):
        with zipfile.ZipFile(source) as archive:
            members = (member for member in archive.infolist() if not member.is_dir())
            yield [(member.filename, partial(archive.read, member)) for member in members]
    elif source.is_file() and tarfile.is_tarfile(source):
        with tarfile.open(source) as archive:
            members = (member for member in archive.getmembers() if member.isfile())
            yield [
                (member.name, partial(lambda found: archive.extractfile(found).read(), member)) for member in members
            ]
    elif source.exists():
        raise InputError(f"{source}: neither a whole zip or tar archive nor a folder")
    else:
        raise InputError(f"{source}: no such file or folder")
