"""The folder that a stage writes: claimed while it runs, and cleared of what a killed process left half written. And
what the stage cost."""

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
        except OSError:  # NFS locks what is open for writing, which no folder can be: there DVC's own locks must do
            pass
        for half in chain(half_written(out), *(half_written(file.parent, file.name) for file in files)):
            half.unlink()
        for half in out.parent.glob(f".{glob.escape(out.name)}-????????"):  # of a download, which replaces its folder
            if half.is_dir() and {each.name for each in half.iterdir()} <= {"whole", "old"}:
                shutil.rmtree(half)
        yield
    finally:
        os.close(folder)  # which gives the folder free
        if new:
            with suppress(OSError):  # where there is a result in it
                out.rmdir()


def half_written(folder: Path, name: str = "") -> Iterator[Path]:
    """What files.replacing has in a folder, or of one file there, before a file is whole: .a.json.abcd1234.json."""
    for path in folder.glob(f".{glob.escape(name) or '*.*'}.????????.*"):
        if path.is_file() and path.suffix == path.with_suffix("").with_suffix("").suffix:
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
