"""One trial: something is called that may go wrong, and what came of it is judged."""

import gc
import multiprocessing
import os
import runpy
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

SECONDS = 300  # after which a call hangs
PRELOADED = ["mlflow", "mlflow.store.tracking.sqlalchemy_store", "numba", "pipeline.commands.score"]


@dataclass(frozen=True)
class Ended:
    """How a call ended."""

    code: int  # of its exit; below zero: the signal that ended it
    said: str  # on both outputs
    errors: str  # on standard error


@dataclass(frozen=True)
class Trial:
    """A fault by its name, and what is done to see how it is met."""

    name: str
    run: Callable[[Path], str]  # gets an empty folder; gives "" where all went well, else what went badly


def call(module: str, *words: str) -> Ended:
    """Calls a stage, or `commands`, with the words of a command line, in an empty folder.

    The process is a fork of this one, whose imports it has: these take ten times as long as most trials.
    """
    _preload(f"pipeline.{module}")
    with tempfile.TemporaryDirectory() as here, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        outputs = out.fileno(), err.fileno()
        child = multiprocessing.get_context("fork").Process(target=_called, args=(module, words, here, *outputs))
        child.start()
        child.join(SECONDS)
        if child.is_alive():
            child.kill()
            child.join()
        out.seek(0)
        err.seek(0)
        errors = err.read().decode("utf-8", "replace")
        return Ended(child.exitcode, out.read().decode("utf-8", "replace") + errors, errors)


@cache
def _preload(module: str) -> None:
    import sqlalchemy.orm

    for name in (module, *PRELOADED):
        import_module(name)
    sqlalchemy.orm.configure_mappers()
    gc.freeze()  # or each fork would copy the pages of what is imported


def _called(module: str, words: tuple[str, ...], here: str, out: int, err: int) -> None:
    """What the process of a command of its own would do."""
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.chdir(here)
    sys.argv = [f"pipeline.{module}", *words]
    if module == "commands":
        sys.exit(import_module("pipeline.commands.__main__").main(list(words)))
    del sys.modules[f"pipeline.{module}"]  # of which `python -m` has no copy either
    runpy.run_module(f"pipeline.{module}", run_name="__main__", alter_sys=True)


def refused(ended: Ended, *names: str) -> str:
    """Empty where a call ended as a mistake of the user's should: code 2, and a message that has one of these names."""
    said = ended.errors.strip()
    if ended.code != 2 or not said.startswith("error: ") or "Traceback" in said:
        return f"exit code {ended.code}: {(ended.said.strip() or 'silence')[-200:]}"
    return "" if any(name in said for name in names) else f"does not name it: {said}"


# What a result holds whose every bit is the same when its stage is repeated.
RESULTS = (".npy", ".csv", ".safetensors", "metrics.json", "counts.json", "run.json", "weights.json", ".txt", ".md")


def differs(folder: Path, expected: Path) -> str:
    """Which files of a result have other bits than expected, or are there in one place alone; empty for none."""
    found, wanted = bits(folder), bits(expected)
    kept = [name for name in found | wanted if name.endswith(RESULTS) or "." not in name]
    names = sorted(name for name in kept if found.get(name) != wanted.get(name))
    return f"other bits: {names[:3]}" if names else ""


def bits(folder: Path) -> dict[str, bytes]:
    """The files below a folder, and what they hold."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
