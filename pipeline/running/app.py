"""The frame of every stage: Hydra composes the configuration, pydantic checks it, and errors are printed as lines."""

import logging
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from pipeline import end_imports, print_anything
from pipeline.config import check, groups
from pipeline.config.base import ROOT, check_checkout
from pipeline.data.files import untracked, write_timing
from pipeline.running.messages import is_known, lines
from pipeline.running.place import claimed, cost

# Flags of Hydra that a value follows.
WITH_VALUE = {"-c", "--cfg", "-p", "--package", "-cp", "--config-path", "-cn", "--config-name", "-cd", "--config-dir"}
FAILURE = "failure.txt"  # in the folder of a failed job of a multirun: the reason

log = logging.getLogger(__name__)


def run(stage: str, main: Callable[..., None], timed: bool = False) -> None:
    """Composes conf/<stage>.yaml, and calls `main` with the settings that pipeline/config/<stage>.py has checked.

    timed: whether `out` is claimed and the stage's time and memory are written to the file `timing`; stages without
    `timed` do both, and more, in stage.recorded. A stage with `timed`, such as a report, also logs the runs that wait
    in the folder of that file; see backlog.py.

    For a user's mistake, the process prints a line for each fault and ends with exit code 2. In a multirun, a failed
    job writes the reason into its folder, and the other jobs go on.
    """
    obey_signals()
    print_anything()
    if {"--help", "-h"} & set(sys.argv[1:]):
        os.execv(sys.executable, [sys.executable, "-m", "pipeline.commands", stage, *sys.argv[1:]])
    with ending_in_lines():
        check_checkout()
    sys.argv[1:] = _with_own_folder(_flags_behind(check.added(sys.argv[1:])))
    OmegaConf.register_new_resolver("timing", lambda out: check.timing_of(stage, out), replace=True)
    # Hydra would print hints over several lines and exit; with this variable, its exceptions reach us.
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")

    def call(config: DictConfig) -> None:
        settings = check.settings(stage, OmegaConf.to_container(config, resolve=True, throw_on_missing=True))
        if not timed:
            main(settings)
            return
        timing = Path(settings.timing)
        start = time.perf_counter()
        with claimed(Path(settings.out), timing):
            main(settings)
            write_timing(timing, {"stage": stage} | cost(start))
        if untracked([timing.parent]):
            # in a process of its own, since it loads MLflow, and nothing of a result depends on it
            subprocess.run([sys.executable, "-m", "pipeline.running.backlog", timing.parent])

    @hydra.main(version_base="1.3", config_path=str(ROOT / "conf"), config_name=stage)
    def application(config: DictConfig) -> None:
        if HydraConfig.get().mode == RunMode.MULTIRUN:
            _job(lambda: call(config), Path(HydraConfig.get().runtime.output_dir))
        else:
            with ending_in_lines():  # here too: Hydra would print a line before an exception
                call(config)

    with ending_in_lines():
        # only these, since to read all would take longer than a small stage does its work
        groups.register(_listed_groups(stage, sys.argv[1:]))
        application()


def _job(call: Callable[[], None], folder: Path) -> None:
    """Runs a job of a multirun. If it fails, the reason is written into its folder, and the other jobs go on."""
    failure = folder / FAILURE
    try:
        failure.touch()  # a killed job leaves the file empty
        call()
        failure.unlink()
        return
    except Exception as error:
        reason = lines(error) if is_known(error) else traceback.format_exc()
    except KeyboardInterrupt as stop:
        if "SUBMITIT_EXECUTOR" not in os.environ:
            raise
        reason = _stopped(stop)  # by scancel; without a result, the job would end the whole multirun
    with suppress(OSError):  # a full disk: the next job will report it
        failure.write_text(reason, encoding="utf-8")
    log.error("this job failed, the others go on: %s", reason)


def obey_signals() -> None:
    """Makes SIGTERM end this process as Ctrl-C does, so that neither signal is lost: if one comes while a finalizer
    runs, Python prints the exception and drops it, so an alarm raises it again a moment later.
    """

    def raise_again(dropped: "sys.UnraisableHookArgs") -> None:
        if dropped.exc_type is KeyboardInterrupt:
            signal.setitimer(signal.ITIMER_REAL, 0.01)
        else:
            sys.__unraisablehook__(dropped)

    end_imports()
    for number in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, signal.default_int_handler)
    sys.unraisablehook = raise_again


@contextmanager
def ending_in_lines() -> Iterator[None]:
    """If the block raises a known error, the process prints a line for each fault and ends with exit code 2. For Ctrl-C
    it prints one line and ends with 130."""
    try:
        yield
    except Exception as error:
        if not is_known(error):
            raise
        message, code = lines(error), 2
    except KeyboardInterrupt as stop:
        message, code = _stopped(stop), 130
    else:
        return
    for line in message.split("\n"):
        print(f"error: {line}", file=sys.stderr)
    sys.exit(code)


def _stopped(stop: KeyboardInterrupt) -> str:
    return " ".join(["stopped", *map(str, stop.args)])


def _listed_groups(stage: str, arguments: Sequence[str]) -> list[str]:
    """The listed groups that a stage has as a key, or that the arguments name, such as +search=recipe."""
    named = {argument.partition("=")[0].partition("@")[0].lstrip("+~") for argument in arguments}
    return [group for group in groups.LISTED if group in named or group in check.keys_of(stage).model_fields]


def _flags_behind(arguments: Sequence[str]) -> list[str]:
    """Arguments with Hydra's flags, and their values, behind the overrides: argparse wants all overrides in one
    place."""
    overrides, flags = [], []
    words = iter(arguments)
    for word in words:
        (flags if word.startswith("-") else overrides).append(word)
        flags += islice(words, word in WITH_VALUE)
    return [*overrides, *flags]


def _with_own_folder(arguments: Sequence[str]) -> list[str]:
    """The arguments, with overrides that give the run a folder of its own. Hydra names a folder by the second of the
    start, which two runs may share. The processes that torchrun starts share one folder. A run with `out` needs no
    further folder.
    """
    process = os.getppid() if "RANK" in os.environ else os.getpid()
    folder = f"${{now:%Y-%m-%d}}/${{now:%H-%M-%S}}-{process}"
    defaults = {"hydra.run.dir": f"outputs/{folder}", "hydra.sweep.dir": f"multirun/{folder}"}
    keys = {argument.partition("=")[0].lstrip("+") for argument in arguments}
    if "out" in keys and not {"-m", "--multirun"} & keys:
        defaults = {"hydra.run.dir": ".", "hydra.output_subdir": "null", "hydra/job_logging": "stdout"}
    additions = [f"{key}={value}" for key, value in defaults.items() if key not in keys]
    overrides = [k for k, argument in enumerate(arguments) if "=" in argument and not argument.startswith("-")]
    end = overrides[-1] + 1 if overrides else len(arguments)  # argparse wants all overrides in one place
    return [*arguments[:end], *additions, *arguments[end:]]
