"""The file in which a killed training finds itself again: one for each configuration, data and code."""

import hashlib
import json
import logging
import pickle
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from filelock import FileLock, Timeout

from pipeline.config.code import CORE, files_of
from pipeline.core.training.trainer import Progress
from pipeline.data.errors import InputError
from pipeline.data.files import replacing
from pipeline.running import interrupts

log = logging.getLogger(__name__)


class CheckpointFile:
    """A training's state as a file, replaced at once or not at all."""

    def __init__(self, path: Path, seconds: float):
        self.path, self.seconds = path, seconds
        self.written = time.monotonic()

    def __str__(self) -> str:
        return str(self.path)

    def tick(self, save: Callable[[], None]) -> None:
        """Saves when `seconds` have gone by since the last time, or before a signal ends the training.

        Raises StoppedError in that case.
        """
        self.save_if(self.due(), interrupts.asked(), save)

    def save_if(self, due: bool, stop: bool, save: Callable[[], None]) -> None:
        """Saves where it is due or the training is to stop, and stops it."""
        if due or stop:
            save()
        if stop:
            raise interrupts.StoppedError

    def due(self) -> bool:
        """Whether it is time."""
        return time.monotonic() - self.written >= self.seconds

    def write(self, state: dict) -> None:
        """Replaces the file."""
        with replacing(self.path) as temporary:
            torch.save(state, temporary)
            self.complete()
        self.written = time.monotonic()

    def complete(self) -> None:
        """The new file is written and will now replace the old one."""

    def read(self) -> dict | None:
        """What the file holds, or None where there is none. A damaged file is put aside, with a warning."""
        if not self.path.is_file():
            return None
        try:
            return read_state(self.path)
        except InputError as error:
            aside = self.path.with_suffix(".damaged")
            self.path.replace(aside)
            log.warning("%s; training starts again, and the file is now %s", error, aside)
            return None


def read_state(path: Path) -> dict:
    """The state of a training, as write left it. Raises InputError where the file is damaged."""
    try:
        with zipfile.ZipFile(path) as archive:  # torch checks no sums
            if part := archive.testzip():
                raise zipfile.BadZipFile(f"{part} has another checksum")
        state = torch.load(path, weights_only=True, map_location="cpu")
        Progress(**state["progress"])
        return state
    except (RuntimeError, EOFError, ValueError, pickle.UnpicklingError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} is damaged: {error}") from error
    except (KeyError, TypeError) as error:
        raise InputError(f"{path} is damaged, or holds no state of a training") from error


@contextmanager
def claim(folder: Path, what: dict, code: Iterable[Path]) -> Iterator[Path]:
    """The checkpoint file of a training, for this process alone; removed when the block ends well.

    what: all that decides its numbers; code: the files that do. Raises InputError where another process
    holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{_key(what, code)}.pt"
    lock = FileLock(path.with_suffix(".lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise InputError(f"another process is at this very training ({path}): wait until it ends") from error
    try:
        for leftover in folder.glob(f".{path.name}.*"):  # of a process killed while it wrote
            leftover.unlink()
        yield path
        path.unlink(missing_ok=True)
    finally:
        lock.release()  # the lock's file stays: to remove it would let two others each lock a file of that name


def code_of(family: str, parallel: str) -> set[Path]:
    """The code that decides the numbers of a training: what the core imports for it."""
    others = ["parallel.py"] * (parallel in ("data", "parameters"))  # which only these import
    names = ("common/threads.py", "training/train.py", f"families/{family}.py", *others)
    return files_of(*(CORE / name for name in names))


def _key(what: dict, code: Iterable[Path]) -> str:
    key = hashlib.sha256(json.dumps(what | {"torch": torch.__version__}, sort_keys=True).encode())
    for file in sorted(code):
        key.update(file.read_bytes())
    return key.hexdigest()[:24]
