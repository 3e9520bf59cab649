"""The words of a command line, checked before Hydra composes them: a key that a stage does not have is refused.

Hydra answers an unknown key with the advice to put "+" before it, and then adds it: the stage would run without it.
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from pipeline.data.errors import InputError
from pipeline.running.keys import groups, keys, names, optional_groups


def check(stage: str, arguments: Sequence[str]) -> None:
    """Raises InputError for the first override of a key or a group that the stage does not have.

    arguments: of the command line. Values are Hydra's and the schema's to check.
    """
    written = [argument for argument in arguments if not argument.startswith("-")]
    grid = not {"-m", "--multirun"}.isdisjoint(arguments)
    elsewhere = any(argument.startswith(("--config-dir", "-cd")) for argument in arguments)  # which has files of its own
    for argument in written:
        key = argument.partition("=")[0].lstrip("+~")
        if key.startswith(("hydra.", "hydra/")) or ("=" not in argument and argument[0] != "~"):
            continue
        if not _has(stage, key.partition("@")[0]):
            raise InputError(f"{key}: {unknown(stage, key)}")
        if key in (*groups(stage), *optional_groups(stage)) and not elsewhere:
            _check_names(key, argument.partition("=")[2], grid)


def _check_names(group: str, value: str, grid: bool) -> None:
    """Raises InputError where a group is given anything but the name of a file, or in a grid several."""
    for name in value.split(",") if grid else [value]:
        if name.strip() not in names(group):
            raise InputError(f"{group}={name}: choose one of {', '.join(names(group))}")


def unknown(stage: str, key: str) -> str:
    """What to say of a key that a stage does not have: the nearest that it has."""
    near = _nearest(key, [*_names(stage)])
    meant = f"; did you mean {near}?" if near else ";"
    return f"{stage} has no such key{meant} `python -m pipeline.{stage} --help` lists all"


def _has(stage: str, key: str) -> bool:
    """Whether a stage has this key or group, or a key that holds or is held by it."""
    if key in groups(stage) or key in optional_groups(stage):
        return True
    for known in keys(stage):
        inside = key.startswith(f"{known.name}.") and known.type.startswith(("dict", "list"))
        if key == known.name or known.name.startswith(f"{key}.") or inside:
            return True
    return False


def _names(stage: str) -> Iterable[str]:
    yield from groups(stage)
    yield from (key.name for key in keys(stage) if "[]" not in key.name)


def _nearest(key: str, known: Sequence[str]) -> str:
    """The known name that a key is most like: the same last part, or nearly the same letters; '' for none."""
    last = [name for name in known if name.rpartition(".")[2] == key.rpartition(".")[2]]
    close = get_close_matches(key, last, 1, cutoff=0) or get_close_matches(key, known, 1)
    return close[0] if close else ""
