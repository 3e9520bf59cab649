"""What every stage shares: Hydra composes its configuration, pydantic checks it, the user's errors are clear lines."""

import logging
import os
import re
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from pipeline.config import check, groups
from pipeline.config.base import ROOT
from pipeline.core.common.errors import UnusableError
from pipeline.data.errors import InputError, print_anything
from pipeline.data.files import write_timing
from pipeline.running.messages import worded
from pipeline.running.places import claimed, cost

FAILURE = "failure.txt"  # in the folder of a multirun's failed job: why

# The user's mistakes, and what the machine refuses, such as a full disk; all else keeps its traceback.
KNOWN = (InputError, UnusableError, HydraException, OmegaConfBaseException, OSError)
# What libraries that write by themselves say of a disk that takes no more: torch, safetensors.
WRITERS = re.compile(r"inline_container\.cc|os error \d+")

log = logging.getLogger(__name__)


def run(stage: str, main: Callable[..., None], timed: bool = False) -> None:
    """Composes conf/<stage>.yaml, and calls `main` with the checked settings of pipeline/config/stages.py.

    timed: `out` is claimed, and what the stage cost is written to `timing` of its configuration; other stages do both,
    and more, themselves.

    A mistake of the user's is printed, a line for each fault, and the process ends with exit code 2. In a multirun a
    failed job leaves its reason in its folder and the others go on.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends a stage as Ctrl-C does
    print_anything()
    sys.argv[1:] = _with_own_folder(check.added(sys.argv[1:]))
    OmegaConf.register_new_resolver("timing", lambda out: check.timing_of(stage, out), replace=True)
    groups.register()
    # Hydra's own handler prints hints over several lines and exits; with this set, errors reach us whole.
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")

    @hydra.main(version_base="1.3", config_path=str(ROOT / "conf"), config_name=stage)
    def application(config: DictConfig) -> None:
        job = Path(HydraConfig.get().runtime.output_dir) if HydraConfig.get().mode == RunMode.MULTIRUN else None
        if job:
            for leftover in (FAILURE, "metrics.json"):  # of an earlier multirun there
                (job / leftover).unlink(missing_ok=True)
        try:
            settings = check.settings(stage, OmegaConf.to_container(config, resolve=True, throw_on_missing=True))
            if not timed:
                main(settings)
            else:
                timing, start = Path(settings.timing), time.perf_counter()
                with claimed(Path(settings.out), timing):
                    main(settings)
                    write_timing(timing, {"stage": stage} | cost(start))
        except Exception as error:
            if not job:
                # SystemExit passes Hydra by, which puts a line of its own before any other exception.
                if is_known(error):
                    raise SystemExit(exit_code(lines(error))) from error
                raise
            reason = lines(error) if is_known(error) else traceback.format_exc()
            with suppress(OSError):  # the next job finds no room either, and says so
                (job / FAILURE).write_text(reason, encoding="utf-8")
            log.error("this job failed, the others go on: %s", reason)

    try:
        application()
    except Exception as error:
        if not is_known(error):
            raise
        sys.exit(exit_code(lines(error)))
    except KeyboardInterrupt as stop:
        sys.exit(exit_code(" ".join(["stopped", *map(str, stop.args)]), 130))


def is_known(error: Exception) -> bool:
    """Whether an error is the user's or the machine's, and not a fault of ours."""
    return isinstance(error, KNOWN) or bool(WRITERS.search(str(error)))


def lines(error: Exception) -> str:
    """A known error as people read it: a line for each fault."""
    if isinstance(error, UnusableError):
        return worded(error)
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, HydraException | OmegaConfBaseException):
        causes = dict.fromkeys([str(error), str(error.__cause__ or "")])  # Hydra's, with OmegaConf's below
        said = " ".join(" ".join(causes).split("Config search path:")[0].split())
        if given := re.search(r"Ambiguous value for argument '\+*([^=]+)=(.*?)' 1\.", said):
            quoted = f"{given[1]}={check.in_quotes(given[2])}"
            return f'{given[1]}={given[2]}: if the comma is part of the value, give "{quoted}"; for a grid add -m'
        return said
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror or error}"
    said = str(error).split("\n")[0][:200]
    return f"{said}: is there room on the disks of out, timing and checkpoints, and may they be written?"


def exit_code(message: str, code: int = 2) -> int:
    """Prints an error, a line for each fault; what the process then ends with."""
    for line in message.split("\n"):
        print(f"error: {line}", file=sys.stderr)
    return code


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
