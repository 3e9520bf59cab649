"""One trial: something is called that may go wrong, and what came of it is judged."""

import gc
import os
import runpy
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

SECONDS = 300  # after which a call hangs
PRELOADED = ["mlflow", "mlflow.store.tracking.sqlalchemy_store", "mlflow.store.tracking.rest_store", "numba"]
PRELOADED += [f"pipeline.commands.{name}" for name in ("score", "compare", "neighbours")]
PRELOADED += ["pipeline.models.by_name", "pipeline.models.user_text"]


@dataclass(frozen=True)
class Ended:
    """How a call ended."""

    code: int  # of its exit; below zero: the signal that ended it
    said: str  # on both outputs
    errors: str  # on standard error


@dataclass(frozen=True)
class Trial:
    """A fault by its name, which is the same in each run of the soak, and what is done to see how it is met."""

    name: str
    run: Callable[[Path], str]  # gets an empty folder; gives "" where all went well, else what went badly


def call(module: str, *words: str, environment: dict[str, str] | None = None) -> Ended:
    """Calls a stage, or `commands`, with the words of a command line, in an empty folder.

    The process is a fork of this one, whose imports it has. environment: added to it.
    """
    entry = import_module(f"pipeline.{module}.__main__" if module == "commands" else f"pipeline.{module}")
    _preload()
    with tempfile.TemporaryDirectory() as here, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            os.chdir(here)
            os.environ |= environment or {}
            os._exit(_called(entry, module, words))
        code = _waited(child)
        read = []
        for file in (out, err):
            file.seek(0)
            read.append(file.read().decode("utf-8", "replace"))
    return Ended(code, "".join(read), read[1])


@cache
def _preload() -> None:
    """Imports what a stage imports only when it gets there, which takes ten times as long as most trials."""
    import sqlalchemy.orm

    for name in PRELOADED:
        import_module(name)
    sqlalchemy.orm.configure_mappers()
    gc.freeze()  # or each fork would copy the pages of what is imported


def _called(entry: object, module: str, words: tuple[str, ...]) -> int:
    """What the process of a command of its own would exit with."""
    sys.argv = [f"pipeline.{module}", *words]
    try:
        if module == "commands":
            code = entry.main(list(words))
        else:
            del sys.modules[entry.__name__]  # of which `python -m` has no copy either
            code = runpy.run_module(entry.__name__, run_name="__main__", alter_sys=True) and 0
    except SystemExit as end:
        code = end.code
        if isinstance(code, str):
            print(code, file=sys.stderr)
            code = 1
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code or 0


def _waited(child: int) -> int:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -signal.SIGKILL


def refused(ended: Ended, *names: str) -> str:
    """Empty where a call ended as a mistake of the user's should: code 2 and one line that has one of these names."""
    lines = ended.errors.strip().splitlines()
    if ended.code != 2:
        return f"exit code {ended.code}: {_last(ended)}"
    if len(lines) != 1 or not lines[0].startswith("error: "):
        return f"{len(lines)} lines: {_last(ended)}"
    return "" if any(name in lines[0] for name in names) else f"does not name it: {lines[0]}"


def _last(ended: Ended) -> str:
    return (ended.said.strip().splitlines() or ["silence"])[-1][:200]


# What a result holds whose every bit is the same when its stage is repeated.
RESULTS = (".npy", ".csv", ".safetensors", "metrics.json", "counts.json", "run.json", "weights.json", ".txt", ".md")


def differs(folder: Path, expected: Path) -> str:
    """Which files of a result have other bits than expected, or are there in one place alone; empty for none."""
    found, wanted = (
        {name: content for name, content in bits(each).items() if name.endswith(RESULTS) or "." not in name}
        for each in (folder, expected)
    )
    names = sorted(name for name in found | wanted if found.get(name) != wanted.get(name))
    return f"other bits: {names[:3]}" if names else ""


def bits(folder: Path) -> dict[str, bytes]:
    """The files below a folder, and what they hold."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }
