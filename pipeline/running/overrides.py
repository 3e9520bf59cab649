"""The words of a command line, checked before Hydra composes them: a key that a stage does not have is refused.

Hydra answers an unknown key with the advice to put "+" before it, and then adds it: the stage would run without it.
"""

import re
from collections.abc import Sequence
from difflib import get_close_matches

from pipeline.data.errors import InputError
from pipeline.running.keys import check_file, missing_whole, optional_groups, schema, settable, usual_groups

NAMES = re.compile(r"[\w-]+(,[\w-]+)*")


def check(stage: str, arguments: Sequence[str]) -> None:
    """Raises InputError for the first override of a key or a group that the stage does not have, or of a group by what
    is the name of none of its files.

    arguments: of the command line. Other values are Hydra's and the schema's to check.
    """
    elsewhere = any(argument.startswith(("--config-dir", "-cd", "hydra.searchpath")) for argument in arguments)
    for argument in arguments:
        key, given, value = argument.partition("=")
        key = key.lstrip("+~")
        if argument.startswith("-") or key.startswith(("hydra.", "hydra/")) or not (given or argument.startswith("~")):
            continue
        if not _has(stage, key.partition("@")[0]):
            raise InputError(f"{key}: {unknown(stage, key)}")
        if whole := missing_whole(stage, arguments, key):
            raise InputError(f"{key}: what is chosen has no {whole}; choose a file that has it, or give {whole} whole")
        if key in (*usual_groups(stage), *optional_groups(stage)) and given and not elsewhere:
            _check_files(key, value)


def _check_files(group: str, value: str) -> None:
    """Raises InputError where a group is given a name, or several with commas, that is none of its files.

    What is no name, such as choice(a,b), is left to Hydra, but for a value or a list, which a group can't have.
    """
    for name in value.split(",") if NAMES.fullmatch(value) else [value] if value[:1] in ("", "[", "{") else []:
        check_file(group, name)


def unknown(stage: str, key: str) -> str:
    """What to say of a key that a stage does not have: the nearest that it has."""
    near = _nearest(key, [*settable(stage)])
    meant = f"; did you mean {near}?" if near else ";"
    return f"{stage} has no such key{meant} `python -m pipeline.{stage} --help` lists all"


def _has(stage: str, key: str) -> bool:
    """Whether a stage has this key or group, or a key that holds or is held by it."""
    if key in usual_groups(stage) or key in optional_groups(stage):
        return True
    return any(_is_or_holds(known, field.type, key) for known, field in schema(stage))


def _is_or_holds(known: str, kind: str, key: str) -> bool:
    """Whether a key is the known one, is one that holds it, or is an item of it: of a list by its number."""
    if key == known or known.startswith(f"{key}."):
        return True
    item = key.removeprefix(f"{known}.").partition(".")[0]
    has_items = kind.startswith("dict") or (kind.startswith("list") and item.isdecimal())
    return has_items and key.startswith(f"{known}.")


def _nearest(key: str, known: Sequence[str]) -> str:
    """The known name that a key is most like: the same last part, or nearly the same letters; '' for none."""
    last = [name for name in known if name.rpartition(".")[2] == key.rpartition(".")[2]]
    close = get_close_matches(key, last, 1, cutoff=0) or get_close_matches(key, known, 1)
    return close[0] if close else ""
