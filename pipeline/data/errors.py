"""The one exception that is meant for the user's eyes, and the check of a number that raises it most often."""

import math


class InputError(ValueError):
    """Configuration, file or data that cannot be used.

    Its text is one sentence or two: what is wrong, where, and what to do next. A stage prints it as a single
    line and ends with a non-zero exit code; any other exception is a fault of ours and keeps its traceback.
    """


def check_above_zero(config: object, prefix: str, *keys: str) -> None:
    """Raises InputError that names the first of these fields that is not finite and above zero (NaN is neither).

    prefix: what the user writes before the key, such as `recipe.`.
    """
    for key in keys:
        if not 0 < getattr(config, key) < math.inf:
            raise InputError(f"{prefix}{key}={getattr(config, key):g}: must be above zero")
