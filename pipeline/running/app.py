"""What every stage shares: Hydra composes its configuration, pydantic checks it, the user's errors are clear lines."""

import logging
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from pipeline import obey_ctrl_c, print_anything
from pipeline.config import check, groups
from pipeline.config.base import ROOT
from pipeline.data.files import write_timing
from pipeline.running.messages import is_known, lines
from pipeline.running.place import claimed, cost

FAILURE = "failure.txt"  # in the folder of a multirun's failed job: why

log = logging.getLogger(__name__)


def run(stage: str, main: Callable[..., None], timed: bool = False) -> None:
    """Composes conf/<stage>.yaml, and calls `main` with the checked settings of pipeline/config/stages.py.

    timed: `out` is claimed, and what the stage cost is written to `timing` of its configuration; other stages do both,
    and more, by stage.recorded.

    A mistake of the user's is printed, a line for each fault, and the process ends with exit code 2. In a multirun a
    failed job leaves its reason in its folder and the others go on.
    """
    obey_signals()
    print_anything()
    if {"--help", "-h"} & set(sys.argv[1:]):
        os.execv(sys.executable, [sys.executable, "-m", "pipeline.commands", stage, *sys.argv[1:]])
    sys.argv[1:] = _with_own_folder(check.added(sys.argv[1:]))
    OmegaConf.register_new_resolver("timing", lambda out: check.timing_of(stage, out), replace=True)
    # Hydra's own handler prints hints over several lines and exits; with this set, errors reach us whole.
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")

    def call(config: DictConfig) -> None:
        settings = check.settings(stage, OmegaConf.to_container(config, resolve=True, throw_on_missing=True))
        if not timed:
            main(settings)
            return
        timing, start = Path(settings.timing), time.perf_counter()
        with claimed(Path(settings.out), timing):
            main(settings)
            write_timing(timing, {"stage": stage} | cost(start))

    @hydra.main(version_base="1.3", config_path=str(ROOT / "conf"), config_name=stage)
    def application(config: DictConfig) -> None:
        if HydraConfig.get().mode == RunMode.MULTIRUN:
            _job(lambda: call(config), Path(HydraConfig.get().runtime.output_dir))
        else:
            with ending_in_lines():  # here too, as Hydra puts a line of its own before an exception
                call(config)

    with ending_in_lines():
        groups.register()
        application()


def _job(call: Callable[[], None], folder: Path) -> None:
    """A job of a multirun, which leaves its failure in its folder, so that the others go on."""
    failure = folder / FAILURE
    try:
        failure.touch()  # and left empty by a job that is killed
        call()
        failure.unlink()
        return
    except Exception as error:
        reason = lines(error) if is_known(error) else traceback.format_exc()
    except KeyboardInterrupt as stop:
        if "SUBMITIT_EXECUTOR" not in os.environ:
            raise
        reason = _stopped(stop)  # by scancel; one without a result would end the whole multirun
    with suppress(OSError):  # the next job finds no room either, and says so
        failure.write_text(reason, encoding="utf-8")
    log.error("this job failed, the others go on: %s", reason)


def obey_signals() -> None:
    """SIGTERM ends this process as Ctrl-C does, and neither is lost: where one comes while a finalizer runs, Python
    prints its exception and drops it, so an alarm raises it once more a moment later.
    """

    def again(dropped: "sys.UnraisableHookArgs") -> None:
        if dropped.exc_type is KeyboardInterrupt:
            signal.setitimer(signal.ITIMER_REAL, 0.01)
        else:
            sys.__unraisablehook__(dropped)

    obey_ctrl_c()
    for number in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, signal.default_int_handler)
    sys.unraisablehook = again


@contextmanager
def ending_in_lines() -> Iterator[None]:
    """Where a known error comes out of the block, the process ends with exit code 2 and a line for each fault; with
    130 and one line for Ctrl-C."""
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


def _with_own_folder(arguments: Sequence[str]) -> list[str]:
    """Arguments with overrides for a folder that no other run has: Hydra's default, the second of the start, two may
    share. The processes that torchrun starts have one. A run with a place of its own, `out`, needs none beside.
    """
    process = os.getppid() if "RANK" in os.environ else os.getpid()
    folder = f"${{now:%Y-%m-%d}}/${{now:%H-%M-%S}}-{process}"
    usual = {"hydra.run.dir": f"outputs/{folder}", "hydra.sweep.dir": f"multirun/{folder}"}
    given = {argument.partition("=")[0].lstrip("+") for argument in arguments}
    if "out" in given and not {"-m", "--multirun"} & given:
        usual = {"hydra.run.dir": ".", "hydra.output_subdir": "null", "hydra/job_logging": "stdout"}
    ours = [f"{key}={value}" for key, value in usual.items() if key not in given]
    overrides = [k for k, argument in enumerate(arguments) if "=" in argument and not argument.startswith("-")]
    end = overrides[-1] + 1 if overrides else len(arguments)  # argparse wants all overrides in one place
    return [*arguments[:end], *ours, *arguments[end:]]
