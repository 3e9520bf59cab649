"""The one builder of tables: a line for each model of conf/table/<name>.yaml, from its arrays of log-probabilities and
what its run.json says of its shape; and the views of it that the report shows."""

from collections.abc import Sequence
from operator import methodcaller
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.config.tables import Row, Table
from pipeline.core.common.evaluation import perplexity
from pipeline.core.common.splits import SPLITS
from pipeline.core.networks import registry
from pipeline.data import record
from pipeline.data.corpus import Corpus
from pipeline.data.errors import InputError
from pipeline.data.predictions import folder_of, read_predictions
from pipeline.reporting.cells import Column


class Model:
    """A model of a table, as the columns ask for it."""

    def __init__(self, name: str, table: Table, corpus: Corpus):
        self.name, self.corpus, self.folders = name, corpus, table.folders(name)
        for folder in self.folders:
            record.check_corpus(record.read(folder), folder, corpus)
        self.row = table.rows.get(name, Row())
        self.shape = shape(self.folders[0], table.predictions)

    def part(self, key: str) -> object:
        return self.shape.get(key)

    def paper(self, split: str) -> float | None:
        return getattr(self.row, split)

    def perplexities(self, split: str, array: str = "{}", seen: bool = False) -> list[float]:
        """Of each seed; array: raw/{} as the model gives it, else with the share; seen: over tokens whose word training
        shows."""
        ids = self.corpus.ids(split)
        kept = ~self.corpus.unseen[ids] if seen else slice(None)
        return [perplexity(read_predictions(each, array.format(split), len(ids))[kept]) for each in self.folders]

    def mean(self, *of: str, seen: bool = False) -> float:
        return np.mean(self.perplexities(*of, seen))

    def spread(self, *of: str) -> float | None:
        """The standard deviation over seeds, where there are several."""
        return np.std(self.perplexities(*of), ddof=1) if len(self.folders) > 1 else None

    def train(self) -> float | None:
        """Raw, of the first seed; None of what training was not scored by."""
        if not (self.folders[0] / "raw" / "train.npy").is_file():
            return None
        return perplexity(read_predictions(self.folders[0], "raw/train", len(self.corpus.train)))


RAW, SHARE = "raw/{}", "{}"
BOTH = ("valid", "test")
# Each column in the order of the CSV file: its name there, its head and format for readers, and what it is of a model.
COLUMNS = [
    Column("row", "row", of=lambda model: model.row.row or model.name),
    Column("model", of=methodcaller("part", "model")),
    *(Column(key, key, "{:d}", methodcaller("part", key)) for key in ("n", "c", "h", "m")),
    *(Column(key, key, of=methodcaller("part", key)) for key in ("direct", "mix")),
    Column("seeds", "seeds", "{:d}", lambda model: len(model.folders)),
    Column("train", "train", of=Model.train),
    *(Column(f"{split}_raw", split, of=methodcaller("mean", split, RAW)) for split in BOTH),
    *(Column(f"{split}_raw_sd", of=methodcaller("spread", split, RAW)) for split in BOTH),
    *(Column(split, f"{split}, with share", of=methodcaller("mean", split, SHARE)) for split in BOTH),
    *(Column(f"{split}_sd", of=methodcaller("spread", split, SHARE)) for split in BOTH),
    *(Column(f"{split}_seen", of=methodcaller("mean", split, SHARE, seen=True)) for split in BOTH),
    *(Column(f"paper_{split}", f"{split}, paper", "{:g}", methodcaller("paper", split)) for split in SPLITS),
]
NAMES = [column.name for column in COLUMNS]
TYPES = {column.name: "Int64" for column in COLUMNS if column.form == "{:d}"}
TYPES |= dict.fromkeys(NAMES[NAMES.index("train") :], float)
AGAINST = Column("against", "test against paper", "{:+.1%}")  # ours over the paper's, less 1


def columns(names: str) -> list[Column]:
    """Columns of the table by their names."""
    known = {column.name: column for column in [*COLUMNS, AGAINST]}
    return [known[name] for name in names.split()]


def shape(folder: Path, places: Sequence[str | Path]) -> dict[str, object]:
    """Whether a network or an n-gram lies in a folder, and its n, c, h, m, direct and mix, as run.json has them."""
    made = record.read(folder)
    if made.stage == "train":
        model = made.config["model"]
        network = {"model": "network", "mix": False} | {key: model[key] for key in ("n", "h", "m", "direct")}
        if model.get("deep") and getattr(registry.family(model["family"]), "unbounded", False):
            network["n"] = None  # it has all words before
        return network
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
    """One line for each model of the table, indexed by its name, with the columns of COLUMNS.

    Means over seeds, and standard deviations where there are several. *_raw: as the model gives it, which is what the
    paper reads; valid, test: with the share for unseen words; *_seen: with it, over tokens whose word training shows;
    train: raw, seed 0. Raises InputError where a model's predictions are missing or of another corpus.
    """
    models = {name: Model(name, table, corpus) for name in table.names}
    lines = {name: {column.name: column.of(model) for column in COLUMNS} for name, model in models.items()}
    return pd.DataFrame.from_dict(lines, orient="index", columns=NAMES).rename_axis("name").astype(TYPES)


def read(file: Path) -> pd.DataFrame:
    """A table that the report stage wrote, indexed by our model's name. Raises InputError where older code wrote it."""
    try:
        return pd.read_csv(file, index_col="name").astype(TYPES)
    except (KeyError, ValueError) as error:
        raise InputError(f"{file} is not as the stage report writes it today ({error}): run that stage again") from None


def read_rows(reports: Path, table: Table) -> pd.DataFrame:
    """All rows of a table in the reports' folder: the paper's and then the others. Raises InputError without them."""
    file = reports / table.csv
    if not file.is_file():
        raise InputError(f"no {file}: run `dvc repro`, or the target of make that makes this table")
    extra = file.with_name("extra.csv")
    return pd.concat([read(each) for each in (file, extra) if each.is_file()])


def ratios(table: pd.DataFrame, yardsticks: list[str], intervals: pd.DataFrame | None = None) -> pd.DataFrame:
    """Each network's and mixture's perplexity over those of the models `yardsticks` on the same stream.

    Perplexities of two streams can't be compared; how far one model is below another can. A line a yardstick and
    network; over: the yardstick's name; columns as in the table, both perplexities over the same tokens; *_low and
    *_high: of the raw ones, from `intervals.build`, where given; reached: the raw ones are at or below the ratios that
    the paper's figures have. A yardstick that is not in the table has no line.
    """
    networks = table[table["model"] == "network"]
    parts = [_ratios(table, networks, intervals, other) for other in yardsticks if other in table.index]
    return pd.concat(parts) if parts else pd.DataFrame()


def _ratios(table: pd.DataFrame, networks: pd.DataFrame, intervals: pd.DataFrame | None, yardstick: str):
    ratio = pd.DataFrame({"row": networks["row"], "over": yardstick})
    for split in ("valid", "test"):
        for column in (f"{split}_raw", split, f"{split}_seen", f"paper_{split}"):
            ratio[column] = networks[column] / table.loc[yardstick, column]  # NaN where the paper prints nothing
    for end in ("low", "high") if intervals is not None else ():
        ratio[f"valid_{end}"] = intervals[f"valid_to_{yardstick}_{end}"]
        ratio[f"test_{end}"] = intervals[f"to_{yardstick}_{end}"]
    below = [
        (ratio[f"{split}_raw"] <= ratio[f"paper_{split}"]) | ratio[f"paper_{split}"].isna()
        for split in ("valid", "test")
    ]
    reached = pd.Series(np.logical_and.reduce(below), ratio.index, dtype="boolean")
    return ratio.assign(reached=reached.where(ratio[["paper_valid", "paper_test"]].notna().any(axis=1)))
