"""The types of keys, and the models that all others build on."""

import os
import tempfile
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

ROOT = Path(__file__).resolve().parents[2]
BOUND = 10**12  # of any number: larger ones are mistakes, and torch and numpy can't take them
BLOCK = 4096  # bytes: a disk that takes no more than that is full


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


class DecidesNothing:
    """Marks a key that decides no number: where something lies, how often it is saved, how it is shown."""


NO_NUMBER = DecidesNothing()


class Keys(BaseModel):
    """A group of keys: unknown ones are refused, numbers are finite."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, coerce_numbers_to_str=True)


def _text(value: str) -> str:
    if "\0" in value:
        raise ValueError("has a NUL character, which no name and no path has")
    return value


def _name(value: str) -> str:
    """Files of a result are called by it."""
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
    """A place that a stage can write, known before it works. A mistyped path makes no folders far away: what is missing
    may lie below the checkout, the folder of the call or the temporary folder; elsewhere the folder itself alone."""
    place = Path(value).resolve()
    near = any(place.is_relative_to(each.resolve()) for each in (ROOT, Path.cwd(), Path(tempfile.gettempdir())))
    if not (place.parent.is_dir() or place.parents[1].is_dir() or near):
        raise ValueError(f"no folder {place.parent}; if the path is right, make it first: mkdir -p {place.parent}")
    there = next(
        folder for folder in (place, *place.parents) if folder.is_dir() or (folder != place and folder.exists())
    )
    if not there.is_dir():
        raise ValueError(f"{there} is no folder, so nothing can be below it; give another place")
    try:
        with tempfile.TemporaryFile(dir=there) as tried:
            tried.write(bytes(BLOCK))
    except OSError as error:
        raise ValueError(f"{there} takes no file: {os.strerror(error.errno)}") from error
    return value


InFolder = Annotated[Text, AfterValidator(_filled), AfterValidator(_folder), NO_NUMBER]
OutFolder = Annotated[InFolder, AfterValidator(_writable)]
OutFile = Annotated[Text, AfterValidator(_filled), AfterValidator(_file), AfterValidator(_writable), NO_NUMBER]
OptionalFile = Annotated[Text, AfterValidator(lambda value: value and _writable(_file(value))), NO_NUMBER]

Seed = Annotated[Int, Field(ge=0, le=2**31, description="decides every random choice")]
RunName = Annotated[Name, AfterValidator(_filled), Field(description="what the run is called")]


class Stage(Keys):
    """What every stage has."""

    out: OutFolder = Field(
        description="the folder that is written; by hand a new one below outputs/, named by the time"
    )
    timing: OutFile = Field(description="a file for the time and memory it took; DVC does not hash it")


class OnCorpus(Stage):
    """A stage that reads a preprocessed corpus."""

    data: InFolder = Field(description="what preprocess wrote")


class OnModels(OnCorpus):
    """A stage that reads what models have left."""

    predictions: Annotated[list[Text], NO_NUMBER] = Field(
        description="folders with <model>/<seed>/ in them: the first that has it counts"
    )


class Named(Keys):
    """A stage whose run has a name of its own."""

    name: RunName


class OnNetwork(Named, OnModels):
    """A stage that reads a trained network."""

    network: Text = Field(description="a network: its folder below one of `predictions`")


def deciding(model: type[Stage]) -> list[str]:
    """The keys of a stage that decide a number of its result."""
    return [
        key
        for key, field in model.model_fields.items()
        if not any(isinstance(mark, DecidesNothing) for mark in field.metadata)
    ]
