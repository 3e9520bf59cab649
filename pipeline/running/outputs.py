"""What a stage logs of its run, read again from what it left: parameters by a dvc.lock, figures from its output.

A dvc.lock holds of each stage the command, the values of the configuration files that it read, and what it wrote.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from safetensors import safe_open

from pipeline.data.corpus import read_corpus
from pipeline.data.errors import InputError
from pipeline.data.files import read_json
from pipeline.ngrams import class_file, exchange

BROWN, BEST_NGRAM = "brown", "best-ngram"
DEFAULTS = {"data": f"data/{BROWN}", "seed": "0"}  # what every stage takes where its command doesn't say


@dataclass(frozen=True)
class Kind:
    """A stage that logs runs."""

    model: str  # the run's, in words of the command
    file: str  # what is there where the output is
    logged: tuple[str, ...]  # the part of its configuration that it logs


CLUSTER = ("classes", "tolerance", "passes", "thorough", "annealing", "temperature")
KINDS = {
    "train": Kind("{model}", "metrics.json", ("model", "recipe", "device")),
    "ngram": Kind("{ngram}", "metrics.json", ("ngram",)),
    "mix": Kind("{mix}", "metrics.json", ("mix",)),
    "cluster": Kind("classes{classes}", "classes.csv", CLUSTER),
    "features": Kind("svd{m}", "features.npy", ("m", "contexts", "reach")),
    "out_of_vocabulary": Kind("{network}", "unknown.json", ("network",)),
    "shortlist": Kind("{name}", "metrics.json", ("network", "size", "ngram")),
}


@dataclass(frozen=True)
class Output:
    """What a stage wrote."""

    root: Path  # the checkout, where every command runs
    stage: str
    words: dict[str, str]  # of the command: key=value
    values: dict[str, dict]  # by configuration file
    md5: str

    @property
    def folder(self) -> Path:
        """Where it is."""
        return self.root / self.words["out"]

    @property
    def file(self) -> Path:
        """The file in it that holds its figures, or all of it."""
        return self.folder / KINDS[self.stage].file

    @property
    def model(self) -> str:
        """As its run calls it: mlp9, kn5, classes500."""
        return self.words.get("name") or KINDS[self.stage].model.format(**self.words)

    @property
    def seed(self) -> int:
        """0 for all that has no randomness."""
        return int(self.words["seed"])

    @property
    def data(self) -> Path:
        """The preprocessed corpus that it is of."""
        return self.root / self.words["data"]

    @property
    def serves(self) -> bool:
        """Whether it becomes a model: a network's first seed, or the best n-gram. Other corpora's are too large."""
        network = self.seed == 0 and (self.folder / "weights.safetensors").is_file()
        return self.data.name == BROWN and (network or self.model == BEST_NGRAM)

    @cached_property
    def parameters(self) -> dict:
        """Through the stage's typed configuration, which fills in what no file says. Raises InputError where the lock
        and the code have other keys."""
        schema = import_module(f"pipeline.{self.stage}").Config
        fields, groups, layers = schema.__dataclass_fields__, {"conf"}, []
        # A file that the command names (energy) goes over the one that it builds on (modern).
        for file, values in sorted(self.values.items(), key=lambda item: Path(item[0]).stem in self.words.values()):
            group = Path(file).parent.name
            groups.add(group)
            values = {key: value for key, value in values.items() if key != "defaults"}
            layers += [values] if group == "conf" else [{group: values}] if group in fields else []
        given = [key for key in self.words if key.split(".")[0] in fields and key not in groups]
        layers.append(OmegaConf.from_dotlist([f"{key}={self.words[key]}" for key in given]))
        try:
            config = OmegaConf.merge(OmegaConf.structured(schema), *layers)
            values = OmegaConf.to_container(config, resolve=True)
        except OmegaConfBaseException as error:
            said = str(error).splitlines()[0]
            raise InputError(f"{self.folder} is of other code than this ({said}); run `dvc repro`") from error
        logged = {key: values[key] for key in KINDS[self.stage].logged}
        if self.stage == "mix":
            logged["weights"] = read_json(self.folder / "weights.json")
        return {"stage": self.stage, "seed": self.seed} | logged

    @cached_property
    def figures(self) -> dict[str, float]:
        """Perplexities and sizes, which the same computation gives again."""
        found = _numbers(self.file) if self.file.suffix == ".json" else {}
        if self.stage == "train":
            found["best_valid_perplexity"] = min(line["valid_perplexity"] for line in self.curve)
            found["parameters"] = _size(self.folder / "weights.safetensors")
        if self.stage == "cluster":
            corpus = read_corpus(self.data)
            classes = class_file.read(self.file, corpus.vocabulary)
            found["class_bigram_perplexity"] = exchange.perplexity(corpus.train, classes)
        return found

    @property
    def timing(self) -> dict[str, float]:
        """Seconds and the like; none where the file is gone, which neither git nor DVC keeps."""
        file = self.root / self.words.get("timing", "")
        return {key: value for key, value in _numbers(file).items() if key != "cores"} if file.is_file() else {}

    @property
    def curve(self) -> list[dict[str, float]]:
        """A network's figures of each epoch."""
        file = self.folder / "curve.csv"
        return pd.read_csv(file).to_dict("records") if file.is_file() else []


def outputs(root: Path) -> Iterator[Output]:
    """Of each stage that logs runs, in the locks below a folder: what is there."""
    for _, entry in locked(root):
        stage, *words = entry["cmd"].partition("-m pipeline.")[2].split() or [""]
        if stage in KINDS:
            given = DEFAULTS | dict(word.partition("=")[::2] for word in words)
            md5 = next(out["md5"] for out in entry["outs"] if out["path"] == given["out"])
            output = Output(root, stage, given, entry.get("params", {}), md5)
            if output.file.is_file():
                yield output


def locked(root: Path) -> Iterator[tuple[str, dict]]:
    """What the locks below a folder hold: each stage, as `dvc repro` takes it, and its entry."""
    for lock in [root / "dvc.lock", *sorted(root.glob("experiments/*/dvc.lock"))]:
        if lock.is_file():
            file = os.path.relpath(lock.with_suffix(".yaml"), root)
            for stage, entry in yaml.safe_load(lock.read_text(encoding="utf-8"))["stages"].items():
                yield f"{file}:{stage}", entry


def digest(root: Path, data: Path) -> str:
    """Of a preprocessed corpus. Raises InputError, with the stage to run, where it is not there."""
    file, out = data / "counts.json", os.path.relpath(data, root)
    counts = read_json(file) if file.is_file() else {}
    if "digest" not in counts:
        writes = (stage for stage, entry in locked(root) if out in [part["path"] for part in entry.get("outs", [])])
        raise InputError(f"{file} is not there, or an older one: run `dvc repro {next(writes, 'preprocess')}`")
    return counts["digest"]


def _numbers(file: Path) -> dict[str, float]:
    return {key: value for key, value in read_json(file).items() if isinstance(value, (int, float))}


def _size(file: Path) -> int:
    with safe_open(file, "numpy") as weights:
        return sum(int(np.prod(weights.get_slice(key).get_shape())) for key in list(weights.keys()))
