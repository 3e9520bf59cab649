"""A comparison table: our perplexities, from arrays of log-probabilities, beside the paper's."""

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline import store
from pipeline.core.errors import InputError
from pipeline.core.evaluation import perplexity

ARCHITECTURE = ["row", "model", "n", "c", "h", "m", "direct", "mix"]
FIGURES = ["train", "valid", "test", "valid_sd", "test_sd", "valid_raw", "test_raw", "valid_seen", "test_seen"]
PAPER = ["paper_train", "paper_valid", "paper_test"]
COLUMNS = [*ARCHITECTURE, "seeds", *FIGURES, *PAPER]
WHOLE = ["n", "c", "h", "m", "seeds", *PAPER]


@dataclass
class Row:
    """One row of the paper's table: its label and architecture, our model's name, the paper's figures."""

    row: str
    name: str  # folder below predictions
    model: str  # network or ngram
    n: int
    c: int | None = None  # classes
    h: int | None = None
    m: int | None = None
    direct: bool | None = None
    mix: bool | None = None
    paper: dict[str, float] = field(default_factory=dict)


@dataclass
class Table:
    """conf/table/<name>.yaml."""

    rows: list[Row]
    extra: list[Row]  # what the paper's table does not have
    yardsticks: list[str]  # the models to which networks are compared by ratio; the first stands in the README
    same_corpus: bool  # as the paper's, so that perplexities compare; if not, ratios to the yardsticks alone do
    join: list[str]  # files of other tables whose rows join the extra ones, so that they need not be computed again


def folders_of(row: Row, predictions: Path, seeds: list[int]) -> list[Path]:
    """The folder of each seed of a row's model; an n-gram has seed 0. None where the model is not there at all.

    Raises InputError where other seeds are there, but not all of these.
    """
    folders = [predictions / row.name / str(seed) for seed in (seeds if row.model == "network" else [0])]
    missing = [folder for folder in folders if not (folder / "valid.npy").is_file()]
    if missing and any((predictions / row.name).glob("*/valid.npy")):
        raise InputError(f"no predictions in {missing[0]}, though other seeds of {row.name} are there: run `dvc repro`")
    return [] if missing else folders


def build(rows: list[Row], predictions: Path, corpus: store.Corpus, seeds: list[int]) -> pd.DataFrame:
    """One line for each row whose arrays are there, indexed by our model's name.

    Means over seeds, and standard deviations where there are several.
    valid, test: with the share for unseen words; *_raw: before it; *_seen: over tokens whose word training shows;
    train: raw, seed 0.
    """
    folders = {row.name: folders_of(row, predictions, seeds) for row in rows}
    there = [row for row in rows if folders[row.name]]
    lines = [_line(row, folders[row.name], corpus) for row in there]
    table = pd.DataFrame(lines, columns=COLUMNS, index=pd.Index([row.name for row in there], name="name"))
    return table.astype(dict.fromkeys(WHOLE, "Int64"))


def join(table: pd.DataFrame, files: list[Path], above: Collection[str] = ()) -> pd.DataFrame:
    """The table and the rows of other tables' CSV files. Raises InputError for a row twice; above: names taken."""
    for file in files:
        if not file.is_file():
            raise InputError(f"table.join: no file {file}: check it out again, or take it out of the table's config")
        other = read(file)
        if twice := [name for name in other.index if name in table.index or name in above]:
            raise InputError(f"table.join: {file} has rows that this table has too: {', '.join(twice)}")
        table = pd.concat([table, other])
    return table


def read(file: Path) -> pd.DataFrame:
    """A table that the report stage wrote, indexed by our model's name."""
    return pd.read_csv(file, index_col="name").astype(dict.fromkeys(WHOLE, "Int64"))


def _line(row: Row, folders: list[Path], corpus: store.Corpus) -> dict:
    line = {key: getattr(row, key) for key in ARCHITECTURE}
    line |= {f"paper_{split}": row.paper.get(split) for split in store.SPLITS} | {"seeds": len(folders)}
    if (folders[0] / "raw" / "train.npy").is_file():
        line["train"] = perplexity(store.read_predictions(folders[0], "raw/train"))
    for split in ("valid", "test"):
        seen = ~corpus.unseen[corpus.ids(split)]
        treated = [store.read_predictions(folder, split) for folder in folders]
        values = [perplexity(array) for array in treated]
        line[split] = np.mean(values)
        line[f"{split}_seen"] = np.mean([perplexity(array[seen]) for array in treated])
        if len(values) > 1:
            line[f"{split}_sd"] = np.std(values, ddof=1)
        if (folders[0] / "raw").is_dir():
            line[f"{split}_raw"] = np.mean([perplexity(store.read_predictions(f, f"raw/{split}")) for f in folders])
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
            values = table[column].astype(float)  # what the paper does not print is NaN
            ratio[column] = values[networks.index] / values[yardstick]
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


def for_reading(table: pd.DataFrame, same_corpus: bool = True) -> pd.DataFrame:
    """The table as text: one decimal, yes and no, blanks; ours beside the paper's, and, where both are of the same
    corpus, how far below it we are."""
    yes_no = {True: "yes", False: "no"}
    read = pd.DataFrame({"row": table["row"]})
    for column in ["n", "c", "h", "m"]:
        read[column] = [_text(value, "{:d}") for value in table[column]]
    for column in ("direct", "mix"):
        read[column] = [yes_no.get(value, "") for value in table[column]]
    for split in store.SPLITS:
        spread = table.get(f"{split}_sd", pd.Series(index=table.index, dtype=float))
        read[split] = [
            _text(value, "{:.1f}") + _text(sd, " ± {:.1f}") for value, sd in zip(table[split], spread, strict=True)
        ]
        read[f"{split}, paper"] = [_text(value, "{:d}") for value in table[f"paper_{split}"]]
    if not same_corpus:
        return read
    difference = table["test"].astype(float) / table["paper_test"].astype(float) - 1
    read["test against paper"] = [_text(value, "{:+.1%}") for value in difference]
    return read


def short(table: pd.DataFrame, yardstick: str) -> str:
    """Test perplexities of the networks and the yardstick and, where that is there, ratios to it, ours beside the
    paper's: a Markdown table."""
    table = table[(table["model"] == "network") | (table.index == yardstick)]
    read = pd.DataFrame({"row": table["row"]})
    for column in ["n", "h", "m"]:
        read[column] = [_text(value, "{:d}") for value in table[column]]
    spread = table["test_sd"] if "test_sd" in table else pd.Series(index=table.index, dtype=float)
    read["test"] = [_text(v, "{:.1f}") + _text(sd, " ± {:.1f}") for v, sd in zip(table["test"], spread, strict=True)]
    read["the paper's"] = [_text(value, "{:d}") for value in table["paper_test"]]
    if yardstick in table.index:
        label = f"over {table.loc[yardstick, 'row']} {table.loc[yardstick, 'n']}"
        for name, column in ((label, "test"), ("the paper's ratio", "paper_test")):
            values = table[column].astype(float)
            read[name] = [_text(value, "{:.3f}") for value in values / values[yardstick]]
    return _markdown(read)


def _text(value: object, form: str) -> str:
    return "" if pd.isna(value) else form.format(value)


def markdown(table: pd.DataFrame, same_corpus: bool = True) -> str:
    """A Markdown table; see for_reading."""
    return _markdown(for_reading(table, same_corpus))


def ratio_markdown(ratios: pd.DataFrame) -> str:
    """The ratios to one yardstick as a Markdown table; see ratios_for_reading."""
    return _markdown(ratios_for_reading(ratios))


def ratios_for_reading(ratios: pd.DataFrame) -> pd.DataFrame:
    """The ratios to one yardstick as text, with three digits, an interval in one column."""
    read = pd.DataFrame({"row": ratios["row"]})
    for split in ("valid", "test"):
        shown = {split: split, f"{split}, seen": f"{split}_seen", f"the paper's {split}": f"paper_{split}"}
        for title, column in shown.items():
            read[title] = [_text(value, "{:.3f}") for value in ratios[column]]
        if f"{split}_low" in ratios:
            ends = zip(ratios[f"{split}_low"], ratios[f"{split}_high"], strict=True)
            title = f"{split}, 95 % over texts"
            read[title] = ["" if pd.isna(low) else f"{low:.3f} to {high:.3f}" for low, high in ends]
    read["reached"] = ratios["reached"].map({True: "yes", False: "no"}).fillna("")
    return read


def _markdown(read: pd.DataFrame) -> str:
    align = ["left"] + ["right"] * (len(read.columns) - 1)
    return read.to_markdown(index=False, disable_numparse=True, colalign=align) + "\n"


def latex(table: pd.DataFrame, same_corpus: bool = True) -> str:
    """A LaTeX tabular for booktabs; see for_reading."""
    return _latex(for_reading(table, same_corpus))


def ratio_latex(ratios: pd.DataFrame) -> str:
    """The ratios to one yardstick as a LaTeX tabular; see ratios_for_reading."""
    return _latex(ratios_for_reading(ratios))


def _latex(read: pd.DataFrame) -> str:
    text = read.to_latex(index=False, column_format="l" + "r" * (len(read.columns) - 1), escape=True)
    return text.replace("±", r"$\pm$")
