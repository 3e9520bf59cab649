"""Files that are replaced whole or not at all."""

import json
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import numpy as np

from pipeline.core.common.errors import InputError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends well, and vanishes when not.

    Where `path` is a link, the file that it leads to is replaced. Raises InputError where that is no regular file, such
    as a folder or /dev/null.
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
    """Indented, keys in the order given, at once or not at all."""
    with replacing(path) as temporary:
        text = json.dumps(values, indent=2, ensure_ascii=False) + "\n"
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")  # half a character as JSON has it


def read_json(path: Path) -> dict:
    """What write_json wrote. Raises InputError where it is damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:  # UnicodeDecodeError is a ValueError
        raise InputError(f"{path} is not there or damaged ({error}): make it again") from error


def read_array(path: Path) -> np.ndarray:
    """An array as numpy.save wrote it. Raises InputError where the file is damaged or holds anything else."""
    try:
        return np.load(path, allow_pickle=False)
    except Exception as error:  # numpy reads the header as Python: what damage ends in can't be listed
        raise InputError(f"{path} is not there, damaged, or no array ({error}): make it again") from error


def write_timing(path: Path, seconds: dict[str, float]) -> None:
    """Times and the machine they were measured on: a file that neither git nor DVC hashes."""
    machine = {"processor": platform.processor() or platform.machine(), "cores": os.cpu_count()}
    write_json(path, seconds | machine | {"python": platform.python_version()})
