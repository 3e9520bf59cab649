"""How a result was made: `run.json` beside it. Whoever reads a result later asks this file and guesses nothing."""

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
    """One run of a stage. Nothing here changes when the same run is repeated."""

    stage: str
    name: str  # of the model or the result
    seed: int  # 0 for all that has no randomness
    config: dict[str, Any]  # the stage's resolved configuration that decides numbers, without name and seed
    data: str  # digest of the corpus' ids

    def write(self, folder: Path) -> None:
        """Puts run.json into the folder of the result."""
        write_json(folder / FILE, asdict(self))


def describe(stage: str, config: Stage, data: str) -> Record:
    """The run that a stage's configuration object is about to make, from a corpus with this digest.

    Keys that are null, such as those of other families of networks, are left out.
    """
    values = config.model_dump(exclude_none=True)
    decides = {key: values[key] for key in deciding(type(config)) if key in values and key not in ("name", "seed")}
    return Record(stage, values["name"], values.get("seed", 0), decides, data)


def read(folder: str | Path) -> Record:
    """The run that made the result in a folder. Raises InputError where the folder does not say."""
    file = Path(folder) / FILE
    try:
        return Record(**read_json(file))
    except TypeError:
        raise InputError(f"{file} is not what a stage writes there: run its stage again") from None


def check_corpus(record: Record, folder: str | Path, corpus: Corpus) -> None:
    """Raises InputError where the result in a folder was not made from this corpus."""
    if record.data != corpus.counts["digest"]:
        raise InputError(f"{folder} was made from another corpus: give the data and the predictions of the same one")
