"""A stage in a process of its own that is forked from one that has its imports: they take ten times as long as most
stages of a test."""

import multiprocessing
import os
import runpy
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

SECONDS = 600  # after which a process hangs
STORE = "mlflow.store.tracking.sqlalchemy_store"
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(
    ["pipeline.train", "pipeline.ngram", "pipeline.running.sweep", "torch._dynamo", "numba", "alembic.command", STORE]
)


@dataclass(frozen=True)
class Ended:
    """How a process ended."""

    code: int  # of its exit; below zero: the signal that ended it
    said: str  # on both outputs
    errors: str  # on standard error


class Fork:
    """`python -m pipeline.<module> <words>`, or `nplm <words>` with the module `commands`, which is begun at once.

    environment: all of it, by default this process's. folder: where it is called, by default an empty one. Not for a
    grid through joblib: its workers would keep the process for five minutes.
    """

    def __init__(
        self, module: str, *words: object, environment: Mapping[str, str] = os.environ, folder: Path | None = None
    ):
        self.outputs = tempfile.TemporaryDirectory()
        self.out, self.err, here = (Path(self.outputs.name, name) for name in ("out", "err", "here"))
        here.mkdir()
        called = module, [str(word) for word in words], dict(environment), folder or here, self.out, self.err
        self.process = SERVER.Process(target=_called, args=called)
        self.process.start()

    def until(self, happened: Callable[[], bool]) -> "Fork":
        """Waits until something has happened, or the process has ended."""
        end = time.monotonic() + SECONDS
        while not happened() and self.process.is_alive() and time.monotonic() < end:
            time.sleep(0.01)
        return self

    def until_says(self, text: str) -> "Fork":
        """Waits until it has printed a text, or has ended."""
        return self.until(lambda: self.out.is_file() and text in self.out.read_text())

    def end(self, number: signal.Signals | None = None) -> Ended:
        """Sends it a signal, if one is given, and waits for its end."""
        if number is not None and self.process.is_alive():
            os.kill(self.process.pid, number)
        self.process.join(SECONDS)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        said, errors = (path.read_text("utf-8", "replace") if path.is_file() else "" for path in (self.out, self.err))
        return Ended(self.process.exitcode, said + errors, errors)


def call(module: str, *words: object, **options) -> Ended:
    """Runs a stage, or `commands`, to its end; see Fork."""
    return Fork(module, *words, **options).end()


def _called(module: str, words: list[str], environment: dict[str, str], folder: Path, out: Path, err: Path) -> None:
    """What the process of a command of its own would do."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for number, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1) for number in (1, 2))
    sys.argv = [f"pipeline.{module}", *words]
    if module == "commands":
        sys.exit(import_module("pipeline.commands.__main__").main(words))
    sys.modules.pop(f"pipeline.{module}", None)  # of which `python -m` has no copy either
    runpy.run_module(f"pipeline.{module}", run_name="__main__", alter_sys=True)
