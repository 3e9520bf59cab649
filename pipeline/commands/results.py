"""What the stages left below a checkout, as their run.json says: what MLflow shows of a run, read again from its
files."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from safetensors import safe_open

from pipeline.data import class_file, record
from pipeline.data.corpus import read_corpus
from pipeline.data.errors import InputError
from pipeline.data.files import read_json
from pipeline.data.weights import WEIGHTS
from pipeline.running.paper import table_of

FOLDERS = ("predictions", "clusters", "features")
FIGURES = ("metrics.json", "out_of_vocabulary.json")  # a stage's perplexities
BROWN, BEST_NGRAM = "brown", "best-ngram"
TABLE1 = "table1"


@dataclass(frozen=True)
class Result:
    """A folder with run.json, and what else is known of that run."""

    folder: Path
    run: record.Record
    table: str  # of predictions/<table>/<name>/<seed>; "" elsewhere
    data: Path  # folder of its corpus
    timing: dict[str, float]  # seconds and the like; none where its file is gone, which neither git nor DVC keeps

    @property
    def serves(self) -> bool:
        """Whether it becomes a model: a network's first seed, or the best n-gram. Other corpora's are too large."""
        network = self.run.stage == "train" and self.run.seed == 0
        return self.data.name == BROWN and (network or self.run.name == BEST_NGRAM)

    @cached_property
    def digest(self) -> str:
        """sha256 over the names and the bytes of its files."""
        total = hashlib.sha256()
        for file in sorted(path for path in self.folder.rglob("*") if path.is_file()):
            with file.open("rb") as opened:
                content = hashlib.file_digest(opened, "sha256").hexdigest()
            total.update(f"{content} {file.relative_to(self.folder).as_posix()}\n".encode())
        return total.hexdigest()

    @cached_property
    def figures(self) -> dict[str, float]:
        """Perplexities and sizes, which the same computation gives again."""
        found = {}
        for file in (self.folder / name for name in FIGURES):
            found |= _numbers(read_json(file)) if file.is_file() else {}
        if self.run.stage == "train":
            found["parameters"] = _size(self.folder / WEIGHTS)
        if self.run.stage == "cluster":
            from pipeline.ngrams import exchange  # numba takes its time

            corpus = read_corpus(self.data)
            classes = class_file.read(self.folder / "classes.csv", corpus.vocabulary)
            found["class_bigram_perplexity"] = exchange.perplexity(corpus.train, classes)
        return found

    @property
    def curve(self) -> list[dict[str, float]]:
        """A network's figures of each epoch."""
        file = self.folder / "curve.csv"
        return pd.read_csv(file).to_dict("records") if file.is_file() else []


def results(root: Path) -> list[Result]:
    """Every result below a checkout, Table 1's first. Raises InputError where there is none, or its corpus is gone."""
    files = sorted(file for name in FOLDERS for file in (root / name).rglob(record.FILE))
    runs = {file.parent: record.read(file.parent) for file in files}
    if not runs:
        raise InputError(f"{root}: no results of the pipeline to publish; run `make repro`")
    corpora = {read_json(file).get("digest"): file.parent for file in sorted((root / "data").glob("*/counts.json"))}
    for folder, made in runs.items():
        if made.data not in corpora:
            raise InputError(
                f"{folder} was made from a corpus that is not in {root / 'data'}: run `dvc checkout`, or the stage "
                "preprocess of its dvc.yaml"
            )
    tables = {folder: table_of(folder, root) for folder in runs}
    timings = _timings(root, runs, tables)
    found = [
        Result(folder, made, tables[folder], corpora[made.data], timings.get(folder, {}))
        for folder, made in runs.items()
    ]
    return sorted(found, key=lambda result: result.table != TABLE1)


def _timings(root: Path, runs: dict[Path, record.Record], tables: dict[Path, str]) -> dict[Path, dict[str, float]]:
    """The times of each result: of the files in timings/<table> with its stage, name and seed, that of its own table,
    or for a result of no table that of one on its corpus, as far as predictions show which that is."""
    corpora = {table: runs[folder].data for folder, table in tables.items() if table}
    found = {}
    files = sorted((root / "timings").glob("*/*.json"))
    for file in sorted(files, key=lambda file: file.parent.name not in corpora):
        said, table = read_json(file), file.parent.name
        spent = {key: value for key, value in _numbers(said).items() if key not in ("seed", "cores")}
        for folder, made in runs.items():
            same = [said.get(key) for key in ("stage", "name", "seed")] == [made.stage, made.name, made.seed]
            if same and (
                tables[folder] == table or (not tables[folder] and corpora.get(table, made.data) == made.data)
            ):
                found.setdefault(folder, spent)
    return found


def _numbers(values: dict) -> dict[str, float]:
    return {key: value for key, value in values.items() if isinstance(value, (int, float))}


def _size(file: Path) -> int:
    with safe_open(file, "numpy") as weights:
        return sum(int(np.prod(weights.get_slice(key).get_shape())) for key in list(weights.keys()))
