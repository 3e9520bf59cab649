"""The folder that a stage writes, for itself alone; and what the stage costs."""

import fcntl
import glob
import os
import re
import resource
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pipeline.data.errors import InputError

HALF_A_FILE = re.compile(r"\..+(\.\w+)\.[a-z0-9_]{8}\1")  # .metrics.json.abcd1234.json: see files.replacing


@contextmanager
def claimed(out: Path, *files: Path) -> Iterator[None]:
    """While the block runs, no other process of this machine writes a result into the folder. What a process that was
    killed left half written there, or of these files, is removed.

    Raises InputError where another process does write.
    """
    new = not out.exists()
    out.mkdir(parents=True, exist_ok=True)
    folder = os.open(out, os.O_RDONLY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"out={out}: another process writes into this folder; wait, or give another") from None
        for leftover in _leftovers(out, *files):
            (shutil.rmtree if leftover.is_dir() else os.unlink)(leftover)
        yield
    finally:
        os.close(folder)  # which gives the folder free
        if new:
            with suppress(OSError):  # where there is a result in it
                out.rmdir()


def _leftovers(out: Path, *files: Path) -> Iterator[Path]:
    """What files.replacing has in a folder, or beside files, before they are whole; a download's, beside its folder."""
    beside = (path for file in files for path in file.parent.glob(f".{glob.escape(file.name)}.*"))
    yield from (path for path in (*out.glob(".*"), *beside) if HALF_A_FILE.fullmatch(path.name))
    for path in out.parent.glob(f".{glob.escape(out.name)}-????????"):
        if path.is_dir() and {each.name for each in path.iterdir()} <= {"whole", "old"}:
            yield path


def cost(start: float) -> dict[str, float]:
    """What a stage has taken since time.perf_counter() said `start`: seconds, and the process's peak memory so far."""
    return {"seconds": time.perf_counter() - start, "peak_memory_mb": peak_memory_mb()}


def peak_memory_mb() -> float:
    """The most memory that this process has had, in MB of 2^20 bytes."""
    status = Path("/proc/self/status")
    if status.is_file():  # Linux, where getrusage gives a child its parent's peak
        return int(re.search(r"VmHWM:\s*(\d+) kB", status.read_text())[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)  # macOS: bytes
