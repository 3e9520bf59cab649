"""Checkpoints: the file from which a stopped or killed training goes on, one for each configuration, data and code."""

import hashlib
import inspect
import json
import logging
import signal
import threading
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError

import torch
from filelock import FileLock, Timeout

from pipeline.config.base import ROOT
from pipeline.core.common.errors import InputError
from pipeline.core.networks import registry
from pipeline.core.training.trainer import Progress
from pipeline.data.files import replacing
from pipeline.running.place import half_written
from pipeline.running.processes import TOGETHER, Ranks

log = logging.getLogger(__name__)

CORE = ROOT / "pipeline" / "core"
TRAINS = (
    "common",
    "networks",
    "streams",
    "training",
)  # folders of the core whose code decides the numbers of a training

_signals: list[int] = []  # the signals that this process has received in the block of `noting_signals`


class Checkpoint:
    """The state of a training as a file, which is replaced completely or not at all. Of several processes, each has its
    file; all are written at the same step, and read only if they are of the same step."""

    def __init__(self, path: Path, seconds: float, ranks: Ranks):
        self.path = path
        self.seconds = seconds
        self.ranks = ranks
        self.written = time.monotonic()

    def tick(self, save: Callable[[], None]) -> bool:
        """Saves if `seconds` have passed since the last checkpoint by the clock of the first process, or if any process
        has received a signal. Returns whether one has: then the training must stop."""
        states = self.ranks.gathered((time.monotonic() - self.written >= self.seconds, is_to_stop()))
        is_due = states[0][0]
        stop = any(signalled for _, signalled in states)
        if is_due or stop:
            save()
        return stop

    def write(self, state: dict) -> None:
        """Replaces the file once all processes have written their states."""
        with replacing(self.path) as temporary:
            torch.save(state, temporary)
            self.ranks.wait()
        self.written = time.monotonic()

    def read(self) -> dict | None:
        """The state in the file; None without a file. A damaged file is renamed, with a warning."""
        state = None
        try:
            state = read_state(self.path) if self.path.is_file() else None
        except InputError as error:
            aside = self.path.replace(self.path.with_suffix(".damaged"))
            log.warning("%s; training starts again, and the file is now %s", error, aside)
        steps = self.ranks.gathered(state and (state["progress"]["epoch"], state["progress"]["step"]))
        if len(set(steps)) > 1:
            raise InputError(
                f"the processes' checkpoints are of different steps, {steps}: one was removed or damaged, or all were "
                f"killed in the instant of saving; remove this training's files, such as {self.path}, to begin again"
            )
        return state


def read_state(path: Path) -> dict:
    """The state of a training that Checkpoint.write wrote. Raises InputError if the file is damaged."""
    try:
        with zipfile.ZipFile(path) as archive:  # torch checks no checksums
            if part := archive.testzip():
                raise zipfile.BadZipFile(f"{part} has another checksum")
        state = torch.load(path, weights_only=True, map_location="cpu")
        Progress(**state["progress"])
        return state
    except (RuntimeError, EOFError, ValueError, KeyError, TypeError, UnpicklingError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} is damaged, or holds no state of a training: {error}") from error


@contextmanager
def claim(folder: Path, settings: dict, code: Iterable[Path]) -> Iterator[Path]:
    """The checkpoint file of a training, locked for this process; removed if the block ends well.

    settings, code: all values and all files that decide the numbers of the training. Raises InputError if another
    process has locked the file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    key = hashlib.sha256(json.dumps(settings | {"torch": torch.__version__}, sort_keys=True).encode())
    for file in sorted(code):
        key.update(file.read_bytes())
    path = folder / f"{key.hexdigest()[:24]}.pt"
    try:  # the lock's file stays: if it were removed, two other processes could each lock a file of this name
        lock = FileLock(path.with_suffix(".lock")).acquire(timeout=0)
    except Timeout as error:
        raise InputError(f"another process is at this very training ({path}): wait until it ends") from error
    with lock:
        for leftover in half_written(folder, path.name):
            leftover.unlink()
        yield path
        path.unlink(missing_ok=True)


def code_of(family: str, parallel: str) -> list[Path]:
    """The files of code that decide the numbers of a training."""
    classes = registry.family(family).__mro__  # a family may build on another
    files = [Path(inspect.getfile(part)) for part in classes if part.__module__.startswith("pipeline.core.families.")]
    if parallel in TOGETHER:
        files.append(CORE / "parallel.py")
    return files + [file for folder in TRAINS for file in (CORE / folder).glob("*.py")]


@contextmanager
def noting_signals() -> Iterator[None]:
    """While the block runs, the first Ctrl-C or SIGTERM is only noted; the second raises KeyboardInterrupt at once."""

    def note(number: int, frame: object) -> None:
        if _signals:
            raise KeyboardInterrupt
        _signals.append(number)

    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
        yield
        return
    handlers = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        _signals.clear()


def is_to_stop() -> bool:
    """Whether this process has received a signal in the block of `noting_signals`."""
    return bool(_signals)
