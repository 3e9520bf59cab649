"""Errors as people read them: what is wrong, where, and what to do next, in a line for each fault."""

import re

from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException

from pipeline.config.check import in_quotes
from pipeline.core.common.errors import InputError

# The user's mistakes, and what the machine refuses, such as a full disk; all else keeps its traceback.
KNOWN = (InputError, HydraException, OmegaConfBaseException, OSError)
# What torch and safetensors, which write by themselves, say of a disk that takes no more.
WRITERS = re.compile(r"inline_container\.cc|os error \d+")
NO_RESULT = "UncompletedJobError"  # of submitit, which is imported where a grid runs through it


def is_known(error: Exception) -> bool:
    """Whether an error is the user's or the machine's, and not a fault of ours."""
    return isinstance(error, KNOWN) or type(error).__name__ == NO_RESULT or bool(WRITERS.search(str(error)))


def lines(error: Exception) -> str:
    """A known error as people read it: a line for each fault."""
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, HydraException | OmegaConfBaseException):
        causes = dict.fromkeys([str(error), str(error.__cause__ or "")])  # Hydra's, with OmegaConf's below
        said = " ".join(" ".join(causes).split("Config search path:")[0].split())
        if given := re.search(r"Ambiguous value for argument '\+*([^=]+)=(.*?)' 1\.", said):
            quoted = f"{given[1]}={in_quotes(given[2])}"
            return f'{given[1]}={given[2]}: if the comma is part of the value, give "{quoted}"; for a grid add -m'
        return said
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror or error}"
    if type(error).__name__ == NO_RESULT:
        said = " ".join(str(error).split("\n")[:2])
        return f"{said}: it was killed, or cancelled before it began; repeat the grid when its other jobs have ended"
    said = str(error).split("\n")[0][:200]
    return f"{said}: is there room on the disks of out, timing and checkpoints, and may they be written?"
