"""Files out of a zip, a tar or a folder, by name, without writing any of them to disk; and into a zip."""

import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath

from pipeline.data.errors import InputError

# RuntimeError: an encrypted zip; NotImplementedError: a compression that zipfile does not know.
DAMAGE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    RuntimeError,
    NotImplementedError,
)


def read(source: Path, named: Callable[[str], str | None]) -> dict[str, bytes]:
    """The wanted files of an archive or folder, or the file itself: name -> bytes; what xz alone has packed, unpacked.

    named: from a path inside, with slashes, to the name it gets; None: not wanted. Raises InputError for what is
    neither archive nor folder, is damaged, or holds a path that leads outside.
    """
    try:
        with _files(source) as files:
            texts = {}
            for path, load in files:
                parts = PurePosixPath(path.replace("\\", "/"))
                if parts.is_absolute() or ".." in parts.parts:
                    raise InputError(f"{source}: holds the path {path!r}, which leads outside; the archive is not used")
                packed = parts.suffix == ".xz"
                name = named(str(parts.with_suffix("") if packed else parts))
                if name is not None:
                    texts[name] = lzma.decompress(load()) if packed else load()
            if not texts and [path for path, _ in files] == [source.name]:
                raise InputError(f"{source}: neither a whole zip or tar archive nor a folder")
            return texts
    except DAMAGE as error:
        raise InputError(f"{source}: can't be read, damaged or cut short: {error}") from error


def unreadable(source: Path) -> str:
    """What is wrong with a place that is neither a file nor a folder, such as a pipe, which would be waited for; else
    nothing."""
    if source.is_file() or source.is_dir():
        return ""
    return "is neither file nor folder" if source.exists() else "no such file or folder"


def pack(texts: dict[str, bytes], path: Path) -> None:
    """One zip of all texts, the same bytes for the same texts."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(texts):
            archive.writestr(zipfile.ZipInfo(name), texts[name], zipfile.ZIP_DEFLATED)


@contextmanager
def _files(source: Path) -> Iterator[list[tuple[str, Callable[[], bytes]]]]:
    """Name and reader of each file, while the archive is open."""
    if source.is_dir():
        paths = (path for path in sorted(source.rglob("*")) if path.is_file())
        yield [(path.relative_to(source).as_posix(), path.read_bytes) for path in paths]
    elif what := unreadable(source):
        raise InputError(f"{source}: {what}")
    elif zipfile.is_zipfile(source):
        with zipfile.ZipFile(source) as archive:
            members = (member for member in archive.infolist() if not member.is_dir())
            yield [(member.filename, partial(archive.read, member)) for member in members]
    elif tarfile.is_tarfile(source):
        with tarfile.open(source) as archive:
            members = (member for member in archive.getmembers() if member.isfile())
            yield [
                (member.name, partial(lambda found: archive.extractfile(found).read(), member)) for member in members
            ]
    else:
        yield [(source.name, source.read_bytes)]
