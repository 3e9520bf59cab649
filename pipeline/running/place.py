"""The folder that a stage writes: it is locked while the stage runs, and half-written files of a killed process are
removed. And the time and memory of a stage."""

import fcntl
import glob
import os
import re
import resource
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path

from pipeline.core.common.errors import InputError


@contextmanager
def claimed(out: Path, *files: Path) -> Iterator[None]:
    """While the block runs, no other process of this machine can claim the folder. Half-written files of a killed
    process are removed, in the folder and beside the other files that the stage writes.

    Raises InputError if another process has claimed the folder.
    """
    is_new = not out.exists()
    out.mkdir(parents=True, exist_ok=True)
    folder = os.open(out, os.O_RDONLY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"out={out}: another process writes into this folder; wait, or give another") from None
        except OSError:  # NFS locks only files open for writing, so no folder: there the locks of DVC must suffice
            pass
        leftovers_beside = (half_written(file.parent, file.name) for file in files)
        for leftover in chain(half_written(out), *leftovers_beside):
            leftover.unlink()
        for leftover in out.parent.glob(f".{glob.escape(out.name)}-????????"):  # of the stage download
            if leftover.is_dir() and {path.name for path in leftover.iterdir()} <= {"whole", "old"}:
                shutil.rmtree(leftover)
        yield
    finally:
        os.close(folder)  # this releases the lock
        if is_new:
            with suppress(OSError):  # the folder holds a result
                out.rmdir()


def half_written(folder: Path, name: str = "") -> Iterator[Path]:
    """The temporary files of files.replacing in a folder, such as .a.json.abcd1234.json; name: only those of one
    file."""
    for path in folder.glob(f".{glob.escape(name) or '*.*'}.????????.*"):
        if path.is_file() and path.suffix == path.with_suffix("").with_suffix("").suffix:
            yield path


def cost(start: float) -> dict[str, float]:
    """The seconds since time.perf_counter() returned `start`, and the peak memory of this process."""
    return {"seconds": time.perf_counter() - start, "peak_memory_mb": peak_memory_mb()}


def peak_memory_mb() -> float:
    """The peak memory of this process, in MB of 2^20 bytes."""
    status = Path("/proc/self/status")
    if status.is_file():  # Linux, where a child process inherits its parent's peak in getrusage
        return int(re.search(r"VmHWM:\s*(\d+) kB", status.read_text())[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)  # macOS: bytes
