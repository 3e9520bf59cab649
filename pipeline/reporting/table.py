"""A comparison table: our perplexities, from arrays of log-probabilities, beside the paper's.

conf/table/<name>.yaml is the list: the stages of a dvc.yaml train, count and mix what stands there, and here each is a
row. Its shape is what run.json says of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.core.common.evaluation import perplexity
from pipeline.data import record
from pipeline.data.corpus import SPLITS, Corpus
from pipeline.data.errors import InputError
from pipeline.data.predictions import folder_of, read_predictions

SHAPE = ["n", "c", "h", "m", "direct", "mix"]
FIGURES = ["train", "valid_raw", "test_raw", "valid_raw_sd", "test_raw_sd"]
FIGURES += ["valid", "test", "valid_sd", "test_sd", "valid_seen", "test_seen"]
PAPER = ["paper_train", "paper_valid", "paper_test"]
COLUMNS = ["row", "model", *SHAPE, "seeds", *FIGURES, *PAPER]
WHOLE = ["n", "c", "h", "m", "seeds"]
TYPES = dict.fromkeys(WHOLE, "Int64") | dict.fromkeys([*FIGURES, *PAPER], float)


@dataclass
class Mixed:
    """Each of the networks, mixed in each of the ways, is a row <network>-<way>."""

    networks: list[str]  # of this table, or of one in whose place they are found
    ways: list[str]  # files of conf/mix
    stage: str = "mix"  # that makes them


@dataclass
class Row:
    """What the paper prints of a row."""

    row: str = ""  # its label
    train: float | None = None  # its perplexity on training, where it prints one
    valid: float | None = None  # on validation
    test: float | None = None  # on test


@dataclass
class Table:
    """conf/table/<name>.yaml."""

    seeds: list[int]  # of each network that is trained, and of its mixtures; all else has seed 0
    models: dict[str, list[str]]  # by the stage that makes them; the stages whose names begin with `train` have seeds
    mix: Mixed
    also: list[str]  # models of other tables that stand here too
    rows: dict[str, Row]  # what the paper has, in its order
    yardsticks: list[str]  # rows to which the others are compared by ratio; the first stands in the README
    same_corpus: bool  # as the paper's, so that perplexities compare; if not, ratios to the yardsticks alone do
    predictions: list[str]  # where the models are; the first folder that has one
    dvc: str  # the file with the stages
    clusterings: list[int]  # numbers of classes for the class n-grams
    training: str  # whose procedure trained the networks, in words
    note: str = ""  # what to know before reading it

    def __post_init__(self):
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise InputError(f"table.seeds={self.seeds}: give one seed or more, none twice")
        if len(set(self.yardsticks)) < len(self.yardsticks):
            raise InputError(f"table.yardsticks={self.yardsticks}: give none twice")
        unknown = [name for name in [*self.rows, *self.yardsticks] if name not in self.names]
        if unknown:
            raise InputError(f"table: {', '.join(unknown)}: no stage of table.models makes it, and table.also lacks it")

    @property
    def names(self) -> dict[str, dict[int, str]]:
        """Each model, the paper's rows first; of each seed the stage that makes it."""
        file = "" if self.dvc == "dvc.yaml" else f"{self.dvc}:"
        found: dict[str, dict[int, str]] = {}
        for stage, models in self.models.items():
            for name in models:
                seeded = {seed: f"{file}{stage}@{name}-{seed}" for seed in self.seeds}
                found[name] = seeded if stage.startswith("train") else {0: f"{file}{stage}@{name}"}
        for network in self.mix.networks:
            for way in self.mix.ways:
                found[f"{network}-{way}"] = {s: f"{file}{self.mix.stage}@{network}-{way}-{s}" for s in self.seeds}
        found |= {name: {0: ""} for name in self.also}
        return {name: found[name] for name in [*(name for name in self.rows if name in found), *found]}

    def folders(self, name: str) -> list[Path]:
        """The folder of each seed of a model. Raises InputError, with the stage to run, where one is missing."""
        return [folder_of(f"{name}/{seed}", self.predictions, stage) for seed, stage in self.names[name].items()]

    def printed(self, name: str) -> bool:
        """Whether the paper prints a figure of it."""
        row = self.rows.get(name, Row())
        return any(getattr(row, split) is not None for split in SPLITS)


def shape(folder: Path, places: Sequence[str | Path]) -> dict[str, object]:
    """Whether a network or an n-gram lies in a folder, and its n, c, h, m, direct and mix, as run.json has them."""
    made = record.read(folder)
    if made.stage == "train":
        model = made.config["model"]
        found = {"model": "network", "mix": False} | {key: model[key] for key in ("n", "h", "m", "direct")}
        return found | ({"n": None} if model.get("family") == "lstm" else {})  # which has all words before
    if made.stage == "adapt":
        return shape(folder_of(made.config["network"], places), places)
    if made.stage == "ngram":
        ngram = made.config["ngram"]
        return {"model": "ngram", "n": ngram["order"], "c": ngram["classes"] or None}
    if made.stage in ("mix", "shortlist"):
        of = made.config["mix"]["components"] if made.stage == "mix" else [made.config["network"]]
        shapes = [shape(folder_of(name, places), places) for name in of]
        first = next((each for each in shapes if each["model"] == "network"), shapes[0] | {"c": None})
        return first | {"mix": True}
    return {"model": "ngram"}


def build(table: Table, corpus: Corpus) -> pd.DataFrame:
    """One line for each model of the table, indexed by its name.

    Means over seeds, and standard deviations where there are several.
    *_raw: as the model gives it, which is what the paper reads; valid, test: with the share for unseen words; *_seen:
    with it, over tokens whose word training shows; train: raw, seed 0. Raises InputError where a model's predictions
    are missing or of another corpus.
    """
    lines = {name: _line(name, table, corpus) for name in table.names}
    return pd.DataFrame.from_dict(lines, orient="index", columns=COLUMNS).rename_axis("name").astype(TYPES)


def read(file: Path) -> pd.DataFrame:
    """A table that the report stage wrote, indexed by our model's name. Raises InputError where older code wrote it."""
    try:
        return pd.read_csv(file, index_col="name").astype(TYPES)
    except (KeyError, ValueError) as error:
        raise InputError(f"{file} is not as the stage report writes it today ({error}): run that stage again") from None


def _line(name: str, table: Table, corpus: Corpus) -> dict:
    folders, paper = table.folders(name), table.rows.get(name, Row())
    for folder in folders:
        record.check_corpus(record.read(folder), folder, corpus)
    line = {"row": paper.row or name, "seeds": len(folders)} | shape(folders[0], table.predictions)
    line |= {f"paper_{split}": getattr(paper, split) for split in SPLITS}
    if (folders[0] / "raw" / "train.npy").is_file():
        line["train"] = perplexity(read_predictions(folders[0], "raw/train", len(corpus.train)))
    for split in ("valid", "test"):
        ids = corpus.ids(split)
        seen = ~corpus.unseen[ids]
        for array, column in ((f"raw/{split}", f"{split}_raw"), (split, split)):
            values = [perplexity(read_predictions(folder, array, len(ids))) for folder in folders]
            line[column] = np.mean(values)
            if len(values) > 1:
                line[f"{column}_sd"] = np.std(values, ddof=1)
        of_seen = [perplexity(read_predictions(folder, split, len(ids))[seen]) for folder in folders]
        line[f"{split}_seen"] = np.mean(of_seen)
    return line


def ratios(table: pd.DataFrame, yardsticks: list[str], intervals: pd.DataFrame | None = None) -> pd.DataFrame:
    """Each network's and mixture's perplexity over those of the models `yardsticks` on the same stream.

    Perplexities of two streams can't be compared; how far one model is below another can. A line a yardstick and
    network; over: the yardstick's name; columns as in the table, both perplexities over the same tokens; *_low and
    *_high: of the raw ones, from `intervals.build`, where given; reached: the raw ones are
    at or below the ratios that the paper's figures have. A yardstick that is not in the table has no line.
    """
    networks = table[table["model"] == "network"]
    found = [_ratios(table, networks, yardstick, intervals) for yardstick in yardsticks if yardstick in table.index]
    return pd.concat(found) if found else pd.DataFrame()


def _ratios(table: pd.DataFrame, networks: pd.DataFrame, yardstick: str, intervals: pd.DataFrame | None):
    ratio = pd.DataFrame({"row": networks["row"], "over": yardstick})
    for split in ("valid", "test"):
        for column in (f"{split}_raw", split, f"{split}_seen", f"paper_{split}"):
            ratio[column] = networks[column] / table.loc[yardstick, column]  # NaN where the paper prints nothing
    if intervals is not None:
        for end in ("low", "high"):
            ratio[f"valid_{end}"] = intervals[f"valid_to_{yardstick}_{end}"]
            ratio[f"test_{end}"] = intervals[f"to_{yardstick}_{end}"]
    paper = ratio[["paper_valid", "paper_test"]]
    below = [
        (ratio[f"{split}_raw"] <= ratio[f"paper_{split}"]) | ratio[f"paper_{split}"].isna()
        for split in ("valid", "test")
    ]
    reached = pd.Series(np.logical_and.reduce(below), ratio.index, dtype="boolean")
    return ratio.assign(reached=reached.where(paper.notna().any(axis=1)))
