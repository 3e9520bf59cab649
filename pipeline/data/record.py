"""How a result was made: the file `run.json` beside it, for all code that reads the result later."""

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipeline.config.base import Stage, deciding
from pipeline.core.common.errors import InputError
from pipeline.data.corpus import Corpus
from pipeline.data.files import read_json, write_json

FILE = "run.json"


@dataclass(frozen=True)
class Record:
    """One run of a stage. A repeated run has an equal record."""

    stage: str
    name: str  # of the model or the result
    seed: int  # 0 for a result without randomness
    config: dict[str, Any]  # the resolved keys of the stage that decide numbers, without name and seed
    data: str  # digest of the corpus' ids

    def without_seeds(self) -> dict[str, Any]:
        """The config without the seeds by which mixtures name their parts (mlp1/2): equal for all seeds of a model."""
        return json.loads(re.sub(r'/\d+"', '"', json.dumps(self.config)))

    def write(self, folder: Path) -> None:
        """Writes run.json into the folder of the result."""
        write_json(folder / FILE, asdict(self))


def describe(stage: str, config: Stage, data: str) -> Record:
    """The record of a run that is about to start. config: the settings of the stage; data: the digest of the corpus.

    Keys that are null, such as those of other families of networks, are left out.
    """
    values = config.model_dump(exclude_none=True)
    keys = [key for key in deciding(type(config)) if key in values and key not in ("name", "seed")]
    return Record(
        stage=stage,
        name=values["name"],
        seed=values.get("seed", 0),
        config={key: values[key] for key in keys},
        data=data,
    )


def read(folder: str | Path) -> Record:
    """The record of the result in a folder. Raises InputError if its run.json is missing or damaged."""
    file = Path(folder) / FILE
    try:
        return Record(**read_json(file))
    except TypeError:
        raise InputError(f"{file} is not what a stage writes there: run its stage again") from None


def check_corpus(record: Record, folder: str | Path, corpus: Corpus) -> None:
    """Raises InputError if the result in the folder was made from another corpus."""
    if record.data != corpus.counts["digest"]:
        raise InputError(f"{folder} was made from another corpus: give the data and the predictions of the same one")
