"""What a key of a configuration may hold, declared where the key is: `order: int = at_least(1)`.

A dataclass calls check() in its __post_init__; OmegaConf builds inner dataclasses the same way, so each checks itself.
What concerns several keys at once stays code in __post_init__.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

from pipeline.data.errors import InputError

KEY = "constraint"  # in a field's metadata, which OmegaConf leaves alone
BOUND = 10**12  # of any number, either way: beyond it lie slips, and numbers that torch and numpy can't take


@dataclasses.dataclass(frozen=True)
class Constraint:
    """What must hold of a value, and what the user reads where it does not."""

    holds: Callable[[Any], bool]
    remedy: str
    when: Callable[[Any], bool] = lambda config: True  # where other keys of the same dataclass decide whether it counts


def one_of(*known: str, default: Any = dataclasses.MISSING) -> Any:
    """One of these names."""
    return _field(Constraint(lambda value: value in known, f"choose one of {', '.join(known)}"), default)


def above_zero(default: Any = dataclasses.MISSING, when: Callable[[Any], bool] = lambda config: True) -> Any:
    """A finite number above zero. when: of the whole dataclass; where it is false, any finite number."""
    return _field(Constraint(lambda value: 0 < value < math.inf, "must be above zero", when), default)


def at_least(least: float, below: float = math.inf, default: Any = dataclasses.MISSING) -> Any:
    """A finite number of at least `least`, and below `below`."""
    remedy = f"must be at least {least}" if least else "can't be negative"
    if below < math.inf:
        remedy = f"must be at least {least} and below {below}"
    return _field(Constraint(lambda value: least <= value < below, remedy), default)


def check(config: Any, prefix: str = "") -> None:
    """Raises InputError that names the first key of a dataclass whose value is not what the key's field declares, or a
    number that is not finite or beyond BOUND. A key that is null has no value.

    prefix: what the user writes before the key, such as `recipe.`.
    """
    for field in dataclasses.fields(config):
        constraint, value = field.metadata.get(KEY), getattr(config, field.name)
        remedy = _beyond(value)
        if value is not None and constraint and constraint.when(config) and not constraint.holds(value):
            remedy = remedy or constraint.remedy
        if remedy:
            raise InputError(f"{prefix}{field.name}={value!r}: {remedy}")


def _beyond(value: Any) -> str:
    """What is wrong with a number whatever its key; '' for nothing."""
    if not isinstance(value, (int, float)) or abs(value) <= BOUND:
        return ""
    if isinstance(value, float) and not math.isfinite(value):
        return "must be a finite number"
    return f"must lie between {-BOUND:.0e} and {BOUND:.0e}"


def _field(constraint: Constraint, default: Any) -> Any:
    return dataclasses.field(default=default, metadata={KEY: constraint})
