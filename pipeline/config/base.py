"""The types of keys, and the models on which all others build."""

import os
import tempfile
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from pipeline.core.common.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
MARKERS = ("pipeline/core", "conf/train.yaml", "pyproject.toml")  # by which a checkout of this project is known
BOUND = 10**12  # of any number: a larger one is a mistake, and torch and numpy can't take it
BLOCK = 4096  # bytes: a disk without room for them is full


def _no_truth_value(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("should be a number")
    return value


Int = Annotated[int, BeforeValidator(_no_truth_value)]
Float = Annotated[float, BeforeValidator(_no_truth_value)]
Count = Annotated[Int, Field(ge=0, le=BOUND)]
Positive = Annotated[Int, Field(gt=0, le=BOUND)]
Above0 = Annotated[Float, Field(gt=0, le=BOUND)]
Amount = Annotated[Float, Field(ge=0, le=BOUND)]
Fraction = Annotated[Float, Field(ge=0, lt=1)]


def check_checkout() -> None:
    """Raises InputError if the current folder lies in another checkout than this code: an environment runs the code of
    the checkout that it was made for, also in a copy of that checkout."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        if all((folder / marker).exists() for marker in MARKERS):
            if folder.resolve() != ROOT:
                raise InputError(
                    f"{folder} is a checkout of this project, but the environment in use belongs to {ROOT}, and would "
                    "run the code there: make one here with `make clean install` and activate it"
                )
            return


class DecidesNothing:
    """Marks a key that changes no number of the result: a place, how often a file is saved, how a thing is shown."""


NO_NUMBER = DecidesNothing()


class Keys(BaseModel):
    """A group of keys. Unknown keys are refused; numbers are finite."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, coerce_numbers_to_str=True)


def _text(value: str) -> str:
    if "\0" in value:
        raise ValueError("has a NUL character, which no name and no path has")
    return value


def _name(value: str) -> str:
    """Checks a name, by which files of a result are called."""
    if Path(value).is_absolute() or ".." in Path(value).parts:
        raise ValueError("files of the result are called by it, so give a name and no path")
    return value


def _filled(value: str) -> str:
    if not value.strip():
        raise ValueError("is empty: give one, or leave it as it is configured")
    return value


Text = Annotated[str, AfterValidator(_text)]
Name = Annotated[Text, AfterValidator(_name)]


def _folder(value: str) -> str:
    if Path(value).exists() and not Path(value).is_dir():
        raise ValueError("is no folder: give one, or a place where nothing is yet")
    return value


def _file(value: str) -> str:
    if Path(value).exists() and not Path(value).is_file():
        raise ValueError("is no file: give one, or a place where nothing is yet")
    return value


def _writable(value: str) -> str:
    """Checks, before a stage works, that it can write at a place. So that a mistyped path makes no folders far away,
    parent folders may be missing only below the checkout, the current folder or the temporary folder."""
    place = Path(value).resolve()
    roots = (ROOT, Path.cwd(), Path(tempfile.gettempdir()))
    nearby = any(place.is_relative_to(root.resolve()) for root in roots)
    if not (place.parent.is_dir() or place.parents[1].is_dir() or nearby):
        raise ValueError(f"no folder {place.parent}; if the path is right, make it first: mkdir -p {place.parent}")
    existing = next(
        folder for folder in (place, *place.parents) if folder.is_dir() or (folder != place and folder.exists())
    )
    if not existing.is_dir():
        raise ValueError(f"{existing} is no folder, so nothing can be below it; give another place")
    try:
        with tempfile.TemporaryFile(dir=existing) as probe:
            probe.write(bytes(BLOCK))
    except OSError as error:
        raise ValueError(f"{existing} takes no file: {os.strerror(error.errno)}") from error
    return value


InFolder = Annotated[Text, AfterValidator(_filled), AfterValidator(_folder), NO_NUMBER]
OutFolder = Annotated[InFolder, AfterValidator(_writable)]
OutFile = Annotated[Text, AfterValidator(_filled), AfterValidator(_file), AfterValidator(_writable), NO_NUMBER]
OptionalFile = Annotated[Text, AfterValidator(lambda value: value and _writable(_file(value))), NO_NUMBER]

Seed = Annotated[Int, Field(ge=0, le=2**31, description="decides every random choice")]
RunName = Annotated[Name, AfterValidator(_filled), Field(description="what the run is called")]


class Stage(Keys):
    """The keys of every stage."""

    out: OutFolder = Field(
        description="the folder that is written; by hand a new one below outputs/, named by the time"
    )
    timing: OutFile = Field(description="a file for the time and memory it took; DVC does not hash it")


class OnCorpus(Stage):
    """A stage that reads a preprocessed corpus."""

    data: InFolder = Field(description="what preprocess wrote")


class OnModels(OnCorpus):
    """A stage that reads the results of models."""

    predictions: Annotated[list[Text], NO_NUMBER] = Field(
        description="folders with <model>/<seed>/ in them: the first that has it counts"
    )


class Named(Keys):
    """A stage whose run has a name."""

    name: RunName


class OnNetwork(Named, OnModels):
    """A stage that reads a trained network."""

    network: Text = Field(description="a network: its folder below one of `predictions`")


def deciding(model: type[Stage]) -> list[str]:
    """The keys of a stage that decide the numbers of its result."""
    return [
        key
        for key, field in model.model_fields.items()
        if not any(isinstance(mark, DecidesNothing) for mark in field.metadata)
    ]
