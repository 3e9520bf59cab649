"""Error messages for people: what is wrong, where, and what to do next, one line for each fault."""

import re

from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException

from pipeline.config.check import in_quotes
from pipeline.core.common.errors import InputError

# The user's mistakes, and faults of the machine such as a full disk; any other error keeps its traceback.
KNOWN = (InputError, HydraException, OmegaConfBaseException, OSError)
# The messages of torch and safetensors, which write files themselves, for a full disk.
WRITERS = re.compile(r"inline_container\.cc|os error \d+")
NO_RESULT = "UncompletedJobError"  # of submitit, which is imported only if a grid uses it


def is_known(error: Exception) -> bool:
    """Whether an error is a fault of the user or the machine, and not of our code."""
    return isinstance(error, KNOWN) or type(error).__name__ == NO_RESULT or bool(WRITERS.search(str(error)))


def lines(error: Exception) -> str:
    """The message of a known error: a line for each fault."""
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, HydraException | OmegaConfBaseException):
        causes = dict.fromkeys(
            [str(error), str(error.__cause__ or "")]
        )  # Hydra's message and OmegaConf's, which caused it
        message = " ".join(" ".join(causes).split("Config search path:")[0].split())
        if match := re.search(r"Ambiguous value for argument '\+*([^=]+)=(.*?)' 1\.", message):
            key, value = match.groups()
            quoted = f"{key}={in_quotes(value)}"
            return f'{key}={value}: if the comma is part of the value, give "{quoted}"; for a grid add -m'
        return message
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror or error}"
    if type(error).__name__ == NO_RESULT:
        message = " ".join(str(error).split("\n")[:2])
        return f"{message}: it was killed, or cancelled before it began; repeat the grid when its other jobs have ended"
    message = str(error).split("\n")[0][:200]
    return f"{message}: is there room on the disks of out, timing and checkpoints, and may they be written?"
