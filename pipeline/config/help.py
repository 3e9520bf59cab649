"""`nplm <stage> --help`: what the stage does, examples, every key with its value, type and meaning."""

import ast
import re
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from pipeline.config import groups
from pipeline.config.base import BOUND, ROOT
from pipeline.config.check import added, keys, keys_of
from pipeline.core.common.errors import InputError

COLUMN = 36  # at which types and meanings begin
LONGEST = 60  # characters of a value that are shown


def answer(stage: str, arguments: Sequence[str]) -> int:
    """Prints the help of a stage with the values of the arguments. Returns the exit code."""
    from hydra.errors import HydraException
    from omegaconf import OmegaConf

    assignments = (argument for argument in arguments if not argument.startswith("-"))
    overrides = [re.sub(r"^([^=]+=[^,\[{(]+),.*", r"\1", text) for text in assignments]  # of a grid the first values
    try:
        values = OmegaConf.to_container(groups.compose(stage, added(overrides)))
    except (HydraException, InputError) as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    print(text(stage, values))
    return 0


def text(stage: str, values: Mapping[str, Any]) -> str:
    """The text of the help of a stage whose keys have these values."""
    width = min(shutil.get_terminal_size((110, 1)).columns, 120)
    docstring = ast.get_docstring(ast.parse((ROOT / "pipeline" / f"{stage}.py").read_text(encoding="utf-8")))
    examples = [
        line.removeprefix("# ")
        for line in (ROOT / "conf" / f"{stage}.yaml").read_text(encoding="utf-8").splitlines()
        if line.startswith("# python -m")
    ]
    choices = [
        f"  {name}={'|'.join(groups.choices(name))}" for name in groups.names() if name in keys_of(stage).model_fields
    ]
    lines = [_columns(_assignment(key, values), _type_and_meaning(field), width) for key, field in keys(keys_of(stage))]
    parts = [docstring, "Examples:\n" + textwrap.indent("\n".join(examples), "  ")]
    if choices:
        parts.append("Entries of conf/ to choose from:\n" + "\n".join(_columns(line, "", width) for line in choices))
    parts.append("Keys, each with the value that it has unless given, its type and what it is:\n" + "\n".join(lines))
    parts.append("--cfg job: print the configuration of a command. -m: a grid, such as seed=0,1. --hydra-help: more.")
    return "\n\n".join(parts)


def _assignment(key: str, values: Mapping[str, Any]) -> str:
    """A key and its value as the user writes them. A key of a list's items, or of a group, is shown without a value."""
    value: Any = values
    for part in key.split("."):
        value = value.get(part, "") if isinstance(value, Mapping) else ""
    value = {True: "true", False: "false", None: "null"}.get(value, value) if isinstance(value, bool | None) else value
    display = "" if isinstance(value, Mapping) or "[]" in key else str(value)
    return (
        f"  {key}={display if len(display) <= LONGEST else display[: LONGEST - 3] + '...'}" if display else f"  {key}"
    )


def _type_and_meaning(field: FieldInfo) -> str:
    bounds = [
        f"{sign} {bound:,}"
        for constraint in field.metadata
        for key, sign in (("gt", ">"), ("ge", ">="), ("lt", "<"), ("le", "<="))
        if (bound := getattr(constraint, key, None)) is not None and bound != BOUND
    ]
    return f"({' '.join([_type(field.annotation), ', '.join(bounds)]).strip()}) {field.description or ''}"


def _type(annotation: Any) -> str:
    """A type in words for the user; a|b for names to choose from."""
    if get_origin(annotation) is Literal:
        return "|".join(map(str, get_args(annotation)))
    if get_origin(annotation) in (list, dict):
        return f"{get_origin(annotation).__name__}[{', '.join(map(_type, get_args(annotation)))}]"
    if get_args(annotation):
        return _type(get_args(annotation)[0])
    return getattr(annotation, "__name__", str(annotation))


def _columns(name: str, description: str, width: int) -> str:
    """Two columns. The description is wrapped; a long name stands on a line above it."""
    wrapped = textwrap.wrap(description, max(width - COLUMN, 30), break_on_hyphens=False, break_long_words=False)
    lines = [" " * COLUMN + line for line in wrapped]
    if lines and len(name) < COLUMN - 1:
        return "\n".join([name.ljust(COLUMN) + wrapped[0], *lines[1:]])
    return "\n".join([name, *lines])
