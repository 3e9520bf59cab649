"""From a composed configuration to the settings of a stage, or to one line for each of its faults."""

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
    """The model of a stage's keys; only its file is imported."""
    return getattr(import_module(f"pipeline.config.{stage}"), stage.title().replace("_", ""))


def settings(stage: str, values: Mapping[str, Any]) -> Keys:
    """The settings of a stage. Raises InputError with a line for each fault: the key, its value, what it may be."""
    try:
        return keys_of(stage).model_validate(values)
    except ValidationError as error:
        raise InputError("\n".join(_line(stage, fault) for fault in error.errors())) from None


def _line(stage: str, fault: Mapping[str, Any]) -> str:
    known = dict(keys(keys_of(stage)))
    place = [str(part) for part in fault["loc"]]
    key = ".".join(place)
    if fault["type"] == "extra_forbidden":
        return unknown(stage, key)
    if fault["type"] == "missing":
        file = f"the files of conf/{place[0]}" if place[1:] else f"conf/{stage}.yaml"
        return f"{key}: is missing: give it, as in {file}"
    said = fault["msg"].removeprefix("Value error, ").removeprefix("Input ")
    if isinstance(fault["input"], (Mapping, BaseModel)) and fault["type"] == "value_error":
        return said if said.partition("=")[0].partition(":")[0] in known else f"{key}: {said}"
    value = str(fault["input"])
    return f"{key}={value if len(value) <= SHOWN else value[:SHOWN] + '...'}: {said}"


def unknown(stage: str, key: str) -> str:
    """What to say of a key that a stage does not have: the nearest that it has."""
    known = [name for name, _ in keys(keys_of(stage))]
    own = get_close_matches(key.rpartition(".")[2], [name.rpartition(".")[2] for name in known], 1)
    near = get_close_matches(key, [name for name in known if name.rpartition(".")[2] in own], 1, cutoff=0)
    meant = f"; did you mean {near[0]}?" if near else ";"
    return f"{key}: {stage} has no such key{meant} `nplm {stage} --help` lists all"


def keys(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """The keys of a model, dotted: its own, then those that all stages have; of a list's items after the list, as
    `claims[].says`."""
    for name in sorted(model.model_fields, key=lambda name: name not in model.__annotations__):
        field = model.model_fields[name]
        yield prefix + name, field
        for inner in _models(field.annotation):
            listed = "[]" if getattr(field.annotation, "__origin__", None) in (list, dict) else ""
            yield from keys(inner, f"{prefix}{name}{listed}.")


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models that a key holds."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)


def added(arguments: Sequence[str]) -> list[str]:
    """Arguments in which each key is added where the configuration lacks it. Hydra would refuse an unknown key alone,
    with the advice to put + before it; so the models see all of them at once."""

    names = groups.names()

    def with_plus(argument: str) -> str:
        key, given, _ = argument.partition("=")
        ours = given and key[:1] not in "+~-" and not key.startswith(("hydra.", "hydra/"))
        return f"++{argument}" if ours and key.partition("@")[0] not in names else argument

    return [with_plus(_quoted(argument)) for argument in arguments]


def _quoted(argument: str) -> str:
    """A value as people give it: ~ is the home folder, and what Hydra's grammar can't read, such as a path with
    parentheses or letters beyond ASCII, stands in quotes."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    key, given, value = argument.partition("=")
    if not given or key.startswith("-"):
        return argument
    if value.startswith("~/"):
        argument = f"{key}={(value := str(Path(value).expanduser()))}"
    try:
        OverridesParser.create().parse_override(argument)
    except HydraException:
        return f"{key}={in_quotes(value)}"
    return argument


def in_quotes(value: str) -> str:
    """A text as Hydra reads it: a quotation mark in it, and the backslashes before one or at the end, need others."""
    return "'" + re.sub(r"(\\*)('|$)", lambda match: match[1] * 2 + "\\'" * bool(match[2]), value) + "'"


def timing_of(stage: str, out: str) -> str:
    """Where a stage writes what it cost: of a result in predictions/<table>/<name>/<seed> into timings/<table>, which
    neither git nor DVC hashes; of any other into its folder."""
    parts = Path(out).parts
    if len(parts) != 4 or parts[0] != "predictions":
        return f"{out}/timing.json"
    return f"timings/{parts[1]}/{stage}-{parts[2]}-{parts[3]}.json"
