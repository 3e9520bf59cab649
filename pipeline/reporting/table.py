"""A comparison table: our perplexities, from arrays of log-probabilities, beside the paper's."""

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.data.corpus import SPLITS, Corpus
from pipeline.data.errors import InputError
from pipeline.data.evaluation import perplexity
from pipeline.data.predictions import read_predictions

ARCHITECTURE = ["row", "model", "n", "c", "h", "m", "direct", "mix"]
FIGURES = ["train", "valid", "test", "valid_sd", "test_sd", "valid_raw", "test_raw", "valid_seen", "test_seen"]
PAPER = ["paper_train", "paper_valid", "paper_test"]
COLUMNS = [*ARCHITECTURE, "seeds", *FIGURES, *PAPER]
WHOLE = ["n", "c", "h", "m", "seeds"]
TYPES = dict.fromkeys(WHOLE, "Int64") | dict.fromkeys([*FIGURES, *PAPER], float)


@dataclass
class Row:
    """One row of the paper's table: its label and architecture, our model's name, the paper's figures."""

    row: str  # its label
    name: str  # folder below predictions
    model: str  # network or ngram
    n: int  # order
    c: int | None = None  # classes
    h: int | None = None  # hidden units
    m: int | None = None  # features a word
    direct: bool | None = None  # connections from features straight to the output
    mix: bool | None = None  # with the trigram, or another mixture
    paper: dict[str, float] = field(default_factory=dict)  # its perplexities, by split


@dataclass
class Table:
    """conf/table/<name>.yaml."""

    rows: list[Row]  # of the paper's table
    extra: list[Row]  # what the paper's table does not have
    yardsticks: list[str]  # rows to which the others are compared by ratio; the first stands in the README
    same_corpus: bool  # as the paper's, so that perplexities compare; if not, ratios to the yardsticks alone do
    join: list[str]  # files of other tables whose rows join the extra ones, so that they need not be computed again
    note: str = ""  # what to know before reading it


def folders_of(row: Row, predictions: Path, seeds: list[int]) -> list[Path]:
    """The folder of each seed of a row's model; an n-gram has seed 0. None where the model is not there at all.

    Raises InputError where other seeds are there, but not all of these.
    """
    folders = [predictions / row.name / str(seed) for seed in (seeds if row.model == "network" else [0])]
    missing = [folder for folder in folders if not (folder / "valid.npy").is_file()]
    if missing and any((predictions / row.name).glob("*/valid.npy")):
        raise InputError(f"no predictions in {missing[0]}, though other seeds of {row.name} are there: run `dvc repro`")
    return [] if missing else folders


def build(rows: list[Row], predictions: Path, corpus: Corpus, seeds: list[int]) -> pd.DataFrame:
    """One line for each row whose arrays are there, indexed by our model's name.

    Means over seeds, and standard deviations where there are several.
    valid, test: with the share for unseen words; *_raw: before it; *_seen: over tokens whose word training shows;
    train: raw, seed 0.
    """
    folders = {row.name: folders_of(row, predictions, seeds) for row in rows}
    there = [row for row in rows if folders[row.name]]
    lines = [_line(row, folders[row.name], corpus) for row in there]
    table = pd.DataFrame(lines, columns=COLUMNS, index=pd.Index([row.name for row in there], name="name"))
    return table.astype(TYPES)


def join(table: pd.DataFrame, files: list[Path], above: Collection[str] = ()) -> pd.DataFrame:
    """The table and the rows of other tables' CSV files. Raises InputError for a row twice; above: names taken."""
    for file in files:
        if not file.is_file():
            raise InputError(f"table.join: no file {file}: check it out again, or give table.join=[]")
        other = read(file)
        if twice := [name for name in other.index if name in table.index or name in above]:
            raise InputError(f"table.join: {file} has rows that this table has too: {', '.join(twice)}")
        table = pd.concat([table, other])
    return table


def read(file: Path) -> pd.DataFrame:
    """A table that the report stage wrote, indexed by our model's name."""
    return pd.read_csv(file, index_col="name").astype(TYPES)


def _line(row: Row, folders: list[Path], corpus: Corpus) -> dict:
    line = {key: getattr(row, key) for key in ARCHITECTURE}
    line |= {f"paper_{split}": row.paper.get(split) for split in SPLITS} | {"seeds": len(folders)}
    if (folders[0] / "raw" / "train.npy").is_file():
        line["train"] = perplexity(read_predictions(folders[0], "raw/train"))
    for split in ("valid", "test"):
        seen = ~corpus.unseen[corpus.ids(split)]
        treated = [read_predictions(folder, split) for folder in folders]
        values = [perplexity(array) for array in treated]
        line[split] = np.mean(values)
        line[f"{split}_seen"] = np.mean([perplexity(array[seen]) for array in treated])
        if len(values) > 1:
            line[f"{split}_sd"] = np.std(values, ddof=1)
        if (folders[0] / "raw").is_dir():
            line[f"{split}_raw"] = np.mean([perplexity(read_predictions(f, f"raw/{split}")) for f in folders])
    return line


def ratios(table: pd.DataFrame, yardsticks: list[str], intervals: pd.DataFrame | None = None) -> pd.DataFrame:
    """Each network's and mixture's perplexity over those of the models `yardsticks` on the same stream.

    Perplexities of two streams can't be compared; how far one model is below another can. A line a yardstick and
    network; over: the yardstick's name; *_seen: both perplexities over the tokens whose word training shows; *_low and
    *_high: from intervals, where given, as the stage intervals writes them of test; reached: ours are at or below the
    ratios that the paper's figures have, over both kinds of tokens. A yardstick that is not in the table has no line.
    """
    networks = table[table["model"] == "network"]
    found = [_ratios(table, networks, yardstick, intervals) for yardstick in yardsticks if yardstick in table.index]
    return pd.concat(found) if found else pd.DataFrame()


def _ratios(table: pd.DataFrame, networks: pd.DataFrame, yardstick: str, intervals: pd.DataFrame | None):
    ratio = pd.DataFrame({"row": networks["row"], "over": yardstick})
    for split in ("valid", "test"):
        for column in (split, f"{split}_seen", f"paper_{split}"):
            ratio[column] = networks[column] / table.loc[yardstick, column]  # NaN where the paper prints nothing
    if intervals is not None:
        for end in ("low", "high"):
            ratio[f"valid_{end}"] = intervals[f"valid_to_{yardstick}_{end}"]
            ratio[f"test_{end}"] = intervals[f"to_{yardstick}_{end}"]
    paper = ratio[["paper_valid", "paper_test"]]
    below = [
        (ratio[f"{split}{tokens}"] <= ratio[f"paper_{split}"]) | ratio[f"paper_{split}"].isna()
        for split in ("valid", "test")
        for tokens in ("", "_seen")
    ]
    reached = pd.Series(np.logical_and.reduce(below), ratio.index, dtype="boolean")
    return ratio.assign(reached=reached.where(paper.notna().any(axis=1)))
