"""From a composed configuration to the settings of a stage, or to a line for each fault in it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from pipeline.config import groups
from pipeline.config.base import Keys, Stage
from pipeline.core.common.errors import InputError

STAGES = (
    *("download", "preprocess", "train", "ngram", "cluster", "mix", "adapt", "features", "shortlist"),
    *("out_of_vocabulary", "word_map", "report", "claims", "replication", "timeline", "streams", "page"),
)
SHOWN = 120  # characters of a value in a message


def keys_of(stage: str) -> type[Stage]:
    """The pydantic model of a stage's keys. Only the file of this stage is imported."""
    return getattr(import_module(f"pipeline.config.{stage}"), stage.title().replace("_", ""))


def settings(stage: str, values: Mapping[str, Any]) -> Keys:
    """The settings of a stage. Raises InputError with a line for each fault: the key, its value, and what is
    allowed."""
    try:
        return keys_of(stage).model_validate(values)
    except ValidationError as error:
        raise InputError("\n".join(_line(stage, fault) for fault in error.errors())) from None


def _line(stage: str, fault: Mapping[str, Any]) -> str:
    fields = dict(keys(keys_of(stage)))
    place = [str(part) for part in fault["loc"]]
    key = ".".join(place)
    if fault["type"] == "extra_forbidden":
        return unknown(stage, key)
    if fault["type"] == "missing":
        file = f"the files of conf/{place[0]}" if place[1:] else f"conf/{stage}.yaml"
        return f"{key}: is missing: give it, as in {file}"
    message = fault["msg"].removeprefix("Value error, ").removeprefix("Input ")
    if isinstance(fault["input"], (Mapping, BaseModel)) and fault["type"] == "value_error":
        return message if message.partition("=")[0].partition(":")[0] in fields else f"{key}: {message}"
    value = str(fault["input"])
    return f"{key}={value if len(value) <= SHOWN else value[:SHOWN] + '...'}: {message}"


def unknown(stage: str, key: str) -> str:
    """The message for a key that a stage does not have, with the most similar key that it has."""
    known = [name for name, _ in keys(keys_of(stage))]
    last_parts = get_close_matches(key.rpartition(".")[2], [name.rpartition(".")[2] for name in known], 1)
    candidates = [name for name in known if name.rpartition(".")[2] in last_parts]
    matches = get_close_matches(key, candidates, 1, cutoff=0)
    hint = f"; did you mean {matches[0]}?" if matches else ";"
    return f"{key}: {stage} has no such key{hint} `nplm {stage} --help` lists all"


def keys(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """The keys of a model, dotted, with their fields: its own keys first, then those that all stages have. The keys of
    a list's items follow the list, as `claims[].says`."""
    for name in sorted(model.model_fields, key=lambda name: name not in model.__annotations__):
        field = model.model_fields[name]
        yield prefix + name, field
        for inner in _models(field.annotation):
            brackets = "[]" if getattr(field.annotation, "__origin__", None) in (list, dict) else ""
            yield from keys(inner, f"{prefix}{name}{brackets}.")


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models in the type of a key."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)


def added(arguments: Sequence[str]) -> list[str]:
    """Arguments with ++ before each key, so that Hydra adds a key that the configuration lacks. Hydra itself would
    refuse the first unknown key and advise a + before it. With ++, pydantic reports all unknown keys at once."""
    group_names = groups.names()

    def with_plus(argument: str) -> str:
        key, equals, _ = argument.partition("=")
        is_key = equals and key[:1] not in "+~-" and not key.startswith(("hydra.", "hydra/"))
        return f"++{argument}" if is_key and key.partition("@")[0] not in group_names else argument

    return [with_plus(_quoted(argument)) for argument in arguments]


def _quoted(argument: str) -> str:
    """An argument that Hydra can read: ~ becomes the home folder, and a value that Hydra's grammar can't read, such as
    a path with parentheses or letters beyond ASCII, gets quotes."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    key, equals, value = argument.partition("=")
    if not equals or key.startswith("-"):
        return argument
    if value.startswith("~/"):
        argument = f"{key}={(value := str(Path(value).expanduser()))}"
    try:
        OverridesParser.create().parse_override(argument)
    except HydraException:
        return f"{key}={in_quotes(value)}"
    return argument


def in_quotes(value: str) -> str:
    """A text in quotes for Hydra. Quotation marks, and backslashes before one or at the end, are escaped."""
    return "'" + re.sub(r"(\\*)('|$)", lambda match: match[1] * 2 + "\\'" * bool(match[2]), value) + "'"


def timing_of(stage: str, out: str) -> str:
    """The file for the time and memory of a stage. For a result in predictions/<table>/<name>/<seed> it is in
    timings/<table>, which neither git nor DVC hashes; for any other result it is in the result's folder."""
    parts = Path(out).parts
    if len(parts) != 4 or parts[0] != "predictions":
        return f"{out}/timing.json"
    return f"timings/{parts[1]}/{stage}-{parts[2]}-{parts[3]}.json"
