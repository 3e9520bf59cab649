"""Files that are replaced completely or not at all."""

import json
import os
import platform
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import numpy as np

from pipeline.core.common.errors import InputError

UNTRACKED = "untracked"  # in a file of times: what the run needs that MLflow does not have yet; see running/backlog.py


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`. If the block ends well, this file replaces `path`; if not, it is removed.

    If `path` is a link, its target is replaced. Raises InputError if that is not a regular file, for example a folder
    or /dev/null.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is no regular file, and only such a file is replaced: give another place")
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid4().hex[:8]}{path.suffix}")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, values: dict) -> None:
    """Writes indented JSON, completely or not at all. Keys keep their order."""
    with replacing(path) as temporary:
        text = json.dumps(values, indent=2, ensure_ascii=False) + "\n"
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")  # half a character, as JSON escapes it


def read_json(path: Path) -> dict:
    """The values that write_json wrote. Raises InputError if the file is missing or damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:  # UnicodeDecodeError is a ValueError
        raise InputError(f"{path} is not there or damaged ({error}): make it again") from error


def read_array(path: Path) -> np.ndarray:
    """An array that numpy.save wrote. Raises InputError if the file is missing, damaged or holds no array."""
    try:
        return np.load(path, allow_pickle=False)
    except Exception as error:  # numpy reads the header as Python: a damaged one can raise any exception
        raise InputError(f"{path} is not there, damaged, or no array ({error}): make it again") from error


def write_timing(path: Path, seconds: dict) -> None:
    """Writes times, when they ended, and the machine on which they were measured. Neither git nor DVC hashes this
    file."""
    machine = {"processor": platform.processor() or platform.machine(), "cores": os.cpu_count()}
    ended = datetime.now(UTC).isoformat(timespec="milliseconds")
    write_json(path, seconds | {"ended": ended} | machine | {"python": platform.python_version()})


def untracked(folders: Iterable[Path]) -> list[Path]:
    """The files of times in some folders whose runs are not in MLflow yet."""
    files = sorted(file for folder in folders for file in folder.glob("*.json"))
    return [file for file in files if UNTRACKED.encode() in file.read_bytes()]
