"""What every stage shares: a typed Hydra application whose user errors end in one clear line."""

import fcntl
import glob
import logging
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import hydra
from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from pipeline.data.errors import InputError
from pipeline.data.files import write_timing
from pipeline.running import help, overrides
from pipeline.running.keys import ROOT, read
from pipeline.running.tracking import flattened

FOLDERS = ("data", "out", "checkpoints")  # in every stage that has these keys
PATHS = (*FOLDERS, "timing", "export", "csv")
BLOCK = 4096  # bytes: a disk that takes no more than that is full
FAILURE = "failure.txt"  # in the folder of a multirun's failed job: why

# The user's mistakes, and what the machine refuses, such as a full disk; all else keeps its traceback.
KNOWN = (InputError, HydraException, OmegaConfBaseException, OSError)
# What libraries that write by themselves say of a disk that takes no more: torch, safetensors.
WRITERS = re.compile(r"inline_container\.cc|os error \d+")

HALF_A_FILE = re.compile(r"\..+(\.\w+)\.[a-z0-9_]{8}\1")  # .metrics.json.abcd1234.json: see files.replacing

KEY_UNKNOWN = re.compile(r"Key '.*' (?:not in|is not in struct)")  # OmegaConf's words

log = logging.getLogger(__name__)


def run(stage: str, schema: type, main: Callable[..., None], timed: bool = False) -> None:
    """Composes conf/<stage>.yaml against the dataclass `schema`, and calls `main` with an instance of it.

    timed: `out` is claimed, and what the stage cost is written to `timing` of its configuration; other stages do both,
    and more, themselves.

    A mistake of the user's (InputError, a key or value that the schema refuses) is printed as one line, and the
    process ends with exit code 2. In a multirun a failed job leaves its reason in its folder and the others go on.
    --help is answered here and not by Hydra, which lists every group of conf/ and no comment.
    """
    if help.wanted(sys.argv[1:]):
        sys.exit(help.answer(stage, sys.argv[1:]))
    try:
        overrides.check(stage, sys.argv[1:])
    except InputError as error:
        sys.exit(exit_code(str(error)))
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends a stage as Ctrl-C does
    sys.argv[1:] = _with_own_folder(sys.argv[1:])
    ConfigStore.instance().store(name=f"{stage}_schema", node=schema)
    # Hydra's own handler prints hints over several lines and exits; with this set, errors reach us whole.
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")

    @hydra.main(version_base="1.3", config_path=str(ROOT / "conf"), config_name=stage)
    def application(config: DictConfig) -> None:
        job = Path(HydraConfig.get().runtime.output_dir) if HydraConfig.get().mode == RunMode.MULTIRUN else None
        if job:
            for leftover in (FAILURE, "metrics.json"):  # of an earlier multirun there
                (job / leftover).unlink(missing_ok=True)
        try:
            for key, value in flattened(OmegaConf.to_container(config)):
                if "\0" in str(value):
                    raise InputError(f"{key}={value!r} has a NUL character, which no name and no path has")
            _check_name(stage, config.get("name"))
            for key in PATHS:
                _check_place(config, key)
            # Merged again: OmegaConf checks no list that comes by a reference to another key.
            resolved = OmegaConf.to_container(config, resolve=True)
            given = OmegaConf.to_object(OmegaConf.merge(config, resolved))
            _check_device(config.get("device"))
            if not timed:
                main(given)
            else:
                timing, start = Path(config.timing), time.perf_counter()
                with claimed(Path(config.out), timing):
                    main(given)
                    write_timing(timing, {"stage": stage} | cost(start))
        except Exception as error:
            known = is_known(error)
            if not job:
                # SystemExit passes Hydra by, which puts a line of its own before any other exception.
                if known:
                    raise SystemExit(exit_code(one_line(error, stage))) from error
                raise
            reason = one_line(error, stage) if known else traceback.format_exc()
            with suppress(OSError):  # the next job finds no room either, and says so
                (job / FAILURE).write_text(reason, encoding="utf-8")
            log.error("this job failed, the others go on: %s", reason)

    try:
        application()
    except Exception as error:
        if not is_known(error):
            raise
        sys.exit(exit_code(one_line(error, stage)))
    except KeyboardInterrupt as stop:
        sys.exit(exit_code(" ".join(["stopped", *map(str, stop.args)]), 130))


def _check_name(stage: str, name: str | None) -> None:
    """Raises InputError for a name that leads out of the folder of the result, or that is empty where one is needed."""
    if name is None:
        return
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise InputError(f"name={name}: files of the result are called by it, so give a name and no path")
    if not name.strip() and read(f"{stage}.yaml").settings["name"].value.strip('"'):
        raise InputError("name is empty: give one, or leave it as it is configured")


def _check_device(device: str | None) -> None:
    """Raises InputError for a device of torch's that is not there, or that holds no numbers, as `meta`."""
    if device in (None, "cpu"):
        return
    import torch

    try:
        torch.zeros(1, device=device).item()
    except Exception as error:  # each kind of device has its own
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"device={device}: it can't be used here: {said[:150]}") from error


def _check_place(config: DictConfig, key: str) -> None:
    """Raises InputError where a stage could not write, or would make folders far from all that is there: before it
    works, so that a training does not find out after an hour.

    A mistyped path must make no folders anywhere on the machine. `out` itself is made, and whatever is missing below
    the checkout, the folder of the call, the temporary folder, or `out`.
    """
    given = config.get(key)
    if given is None or (given == "" and key == "export"):  # which is empty for none
        return
    if given == "":
        raise InputError(f"{key} is empty: give a path, or leave it as it is configured")
    place = Path(given)
    fits = place.is_dir() if key in FOLDERS else place.is_file()
    if place.exists() and not fits:
        what = "folder" if key in FOLDERS else "file"
        raise InputError(f"{key}={place} is no {what}: give one, or a place where nothing is yet")
    if key == "data":  # which is read
        return
    needed = place if key == "checkpoints" else place.parent
    ours = (ROOT, Path.cwd(), Path(tempfile.gettempdir()), Path(config.get("out") or "."))
    near = any(needed.resolve().is_relative_to(each.resolve()) for each in ours)
    folders = place.absolute().parents if key not in FOLDERS else (place.absolute(), *place.absolute().parents)
    there = next(folder for folder in folders if folder.exists())
    if not there.is_dir():
        raise InputError(f"{key}={place}: {there} is no folder, so nothing can be below it; give another place")
    if not needed.is_dir() and not near:
        raise InputError(f"{key}={place}: no folder {needed}; if the path is right, make it first: mkdir -p {needed}")
    try:
        with tempfile.TemporaryFile(dir=there) as tried:
            tried.write(bytes(BLOCK))
    except OSError as error:
        raise InputError(f"{key}={place}: {there} takes no file: {os.strerror(error.errno)}") from error


def is_known(error: Exception) -> bool:
    """Whether an error is the user's or the machine's, and not a fault of ours."""
    return isinstance(error, KNOWN) or bool(WRITERS.search(str(error)))


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


def _with_own_folder(arguments: Sequence[str]) -> list[str]:
    """Arguments with overrides for a folder that no other run has: Hydra's default, the second of the start, two may
    share. The processes that torchrun starts have one.
    """
    process = os.getppid() if "RANK" in os.environ else os.getpid()
    folder = f"${{now:%Y-%m-%d}}/${{now:%H-%M-%S}}-{process}"
    usual = {"hydra.run.dir": f"outputs/{folder}", "hydra.sweep.dir": f"multirun/{folder}"}
    given = {argument.partition("=")[0].lstrip("+") for argument in arguments}
    ours = [f"{key}={value}" for key, value in usual.items() if key not in given]
    overrides = [k for k, argument in enumerate(arguments) if "=" in argument and not argument.startswith("-")]
    end = overrides[-1] + 1 if overrides else len(arguments)  # argparse wants all overrides in one place
    return [*arguments[:end], *ours, *arguments[end:]]


def cost(start: float) -> dict[str, float]:
    """What a stage has taken since time.perf_counter() said `start`: seconds, and the process's peak memory so far."""
    return {"seconds": time.perf_counter() - start, "peak_memory_mb": peak_memory_mb()}


def peak_memory_mb() -> float:
    """The most memory that this process has had, in MB of 2^20 bytes."""
    status = Path("/proc/self/status")
    if status.is_file():  # Linux, where getrusage gives a child its parent's peak
        return int(re.search(r"VmHWM:\s*(\d+) kB", status.read_text())[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)  # macOS: bytes


def one_line(error: Exception, stage: str) -> str:
    """The text of an error and of what caused it, white space folded; of Hydra's, what a user can follow."""
    if isinstance(error, OSError) or not isinstance(error, KNOWN):
        return said_of_the_machine(error)
    parts = [str(error)]
    if error.__cause__ is not None and str(error.__cause__) not in parts[0]:
        parts.append(str(error.__cause__))
    for part in reversed(parts):  # OmegaConf names the key below its message
        if found := re.match(r"(.*?)\s+full_key: (\S+)", part, re.DOTALL):
            said, key = " ".join(found[1].split()), found[2]
            return f"{key}: {overrides.unknown(stage, key) if KEY_UNKNOWN.match(said) else said}"
    return " ".join(" ".join(parts).split("Config search path:")[0].split())


def said_of_the_machine(error: Exception) -> str:
    """An error of the machine in one line: what was refused, where, and what to look at."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror or error}"
    said = (error.strerror if isinstance(error, OSError) else "") or str(error).split("\n")[0][:200] or "not written"
    return f"{said}: is there room on the disks of out, timing and checkpoints, and may they be written?"


def exit_code(message: str, code: int = 2) -> int:
    """Prints an error's one line; what the process then ends with."""
    print(f"error: {message}", file=sys.stderr)
    return code
