"""The one builder of tables: a line for each model of conf/table/<name>.yaml, from its arrays of log-probabilities and
what its run.json says of its shape; and the ratios that follow from them."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.config.tables import Row, Table
from pipeline.core.common.errors import InputError
from pipeline.core.common.evaluation import perplexity
from pipeline.core.common.stream import SPLITS
from pipeline.data import record
from pipeline.data.corpus import Corpus
from pipeline.data.files import read_json
from pipeline.data.predictions import folder_of, read_predictions

BOTH = ("valid", "test")
YARDSTICK, TRIGRAM = "kn5-srilm", "interpolated3"  # the rows that ratios are to
ENDS = ("low", "high")  # of an interval
WHOLE = ["n", "c", "h", "m", "seeds", "parameters"]
FIGURES = ["train_se", "train", *(f"{split}{end}" for end in ("_raw", "_raw_sd", "", "_sd", "_seen") for split in BOTH)]
FIGURES += [f"paper_{split}" for split in SPLITS]
# in the order of the CSV file
NAMES = ["row", "model", "n", "c", "h", "m", "direct", "mix", "seeds", "context", "parameters", *FIGURES]
TYPES = dict.fromkeys(WHOLE, "Int64") | dict.fromkeys(["context", *FIGURES], float)


def folders_of(table: Table, name: str) -> list[Path]:
    """The folder of each seed of a table's model. Raises InputError, with the stage to run, where one is missing."""
    return [folder_of(f"{name}/{seed}", table.predictions, stage) for seed, stage in table.names[name].items()]


def build(table: Table, corpus: Corpus) -> pd.DataFrame:
    """One line for each model of the table, indexed by its name.

    Means over seeds, and standard deviations (_sd) where there are several. *_raw: as the model gives it, which is what
    the paper reads; valid, test: with the share for unseen words; *_seen: with it, over tokens whose word training
    shows; train: raw, of the first seed, where it scored training, and its standard error (_se) where it scored some of
    it; parameters: free ones of a network, of all networks in a mixture; context: words before the next that can decide
    its probability, infinite where all can. Raises InputError where a model's predictions are missing or of another
    corpus.
    """
    lines = {name: line(name, table, corpus) for name in table.names}
    return pd.DataFrame.from_dict(lines, orient="index").rename_axis("name").astype(TYPES)


def line(name: str, table: Table, corpus: Corpus) -> dict[str, object]:
    """What the table says of a model."""
    folders, row = folders_of(table, name), table.rows.get(name, Row())
    for folder in folders:
        record.check_corpus(record.read(folder), folder, corpus)
    its = shape(folders[0], table.predictions)
    built = dict.fromkeys(NAMES) | {"row": row.row or name, "seeds": len(folders)} | its
    metrics = read_json(folders[0] / "metrics.json")
    built |= {key: metrics.get(key) for key in ("train", "train_se")}
    for split in BOTH:
        ids = corpus.ids(split)
        every, seen = np.full(len(ids), True), ~corpus.unseen[ids]
        for end, array, kept in (("_raw", f"raw/{split}", every), ("", split, every), ("_seen", split, seen)):
            seeds = [perplexity(read_predictions(folder, array, len(ids))[kept]) for folder in folders]
            built[f"{split}{end}"] = np.mean(seeds)
            if len(seeds) > 1 and f"{split}{end}_sd" in NAMES:
                built[f"{split}{end}_sd"] = np.std(seeds, ddof=1)
    return built | {f"paper_{split}": getattr(row, split) for split in SPLITS}


def shape(folder: Path, places: Sequence[str | Path]) -> dict[str, object]:
    """Whether a network or an n-gram lies in a folder, its n, c, h, m, direct and mix, as run.json has them, its
    parameters and the words of its context."""
    made = record.read(folder)
    if made.stage == "train":
        model, metrics = made.config["model"], read_json(folder / "metrics.json")
        network = {"model": "network", "mix": False, "parameters": metrics["parameters"]}
        network |= {key: model[key] for key in ("n", "h", "m", "direct")} | {"context": metrics.get("context")}
        return network if network["context"] else network | {"n": None, "context": math.inf}
    if made.stage == "adapt":
        return shape(folder_of(made.config["network"], places), places) | {"context": math.inf}
    if made.stage == "ngram":
        ngram = made.config["ngram"]
        context = ngram.get("length") or ngram["order"] - 1  # of a cache: the words that it holds
        return {"model": "ngram", "n": ngram["order"], "c": ngram["classes"] or None, "context": context}
    if made.stage in ("mix", "shortlist"):
        of = made.config["mix"]["components"] if made.stage == "mix" else [made.config["network"]]
        shapes = [shape(folder_of(name, places), places) for name in of]
        first = next((each for each in shapes if each["model"] == "network"), shapes[0] | {"c": None})
        together = sum(each.get("parameters") or 0 for each in shapes)
        known = [each["context"] for each in shapes if each["context"] is not None]
        context = max(known) if len(known) == len(shapes) else None
        return first | {"mix": True, "parameters": together or None, "context": context}
    return {"model": "ngram", "context": None}  # made by hand: run.json does not say


def read(file: Path) -> pd.DataFrame:
    """A table that the report stage wrote, indexed by our model's name. Raises InputError where older code wrote it."""
    try:
        return pd.read_csv(file, index_col="name").astype(TYPES)
    except (KeyError, ValueError) as error:
        raise InputError(f"{file} is not as the stage report writes it today ({error}): run that stage again") from None


def read_rows(reports: Path, table: Table) -> pd.DataFrame:
    """All rows of a table in the reports' folder, the paper's and then the others. Where there are intervals, valid_raw
    and test_raw have theirs (_low, _high), and valid_to_NAME and to_NAME are the ratios to a yardstick, with theirs.
    Raises InputError without the table."""
    file = reports / table.csv
    if not file.is_file():
        raise InputError(f"no {file}: run `dvc repro`, or the target of make that makes this table")
    rows = pd.concat([read(each) for each in (file, file.with_name("extra.csv")) if each.is_file()])
    if not (intervals := file.with_name("intervals.csv")).is_file():
        return rows
    ends = {f"{of}{end}": f"{to}_{end}" for of, to in (("", "test_raw"), ("valid_", "valid_raw")) for end in ENDS}
    spread = pd.read_csv(intervals, index_col="name").drop(columns=["perplexity", "valid", "seeds"], errors="ignore")
    return rows.join(spread.rename(columns=ends))


def label(row: pd.Series) -> str:
    """A row's label with its order and its classes."""
    return ", ".join([row["row"], *(f"{key} = {row[key]}" for key in ("n", "c") if pd.notna(row[key]))])


def ratios(table: pd.DataFrame, yardsticks: list[str], intervals: pd.DataFrame) -> pd.DataFrame:
    """Each network's and mixture's perplexity over those of the models `yardsticks` on the same stream.

    Perplexities of two streams can't be compared; how far one model is below another can. A line a yardstick and
    network; over: the yardstick's name; columns as in the table, both perplexities over the same tokens; *_low and
    *_high: of the raw ones, from `intervals.build`; reached: the raw ones are at or below the ratios that the paper's
    figures have, none where it prints none. A yardstick that is not in the table has no line.
    """
    networks, parts = table[table["model"] == "network"], []
    figures = [name for split in BOTH for name in (f"{split}_raw", split, f"{split}_seen", f"paper_{split}")]
    for over in (name for name in yardsticks if name in table.index):
        part = networks[figures] / table[figures].loc[over]  # NaN where the paper prints nothing
        part.insert(0, "row", networks["row"])
        part.insert(1, "over", over)
        for end in ENDS:
            part[f"valid_{end}"] = intervals[f"valid_to_{over}_{end}"]
            part[f"test_{end}"] = intervals[f"to_{over}_{end}"]
        raw, printed = part[["valid_raw", "test_raw"]], part[["paper_valid", "paper_test"]]
        missed = (raw.to_numpy() > printed.to_numpy()).any(axis=1)
        part["reached"] = pd.Series(~missed, part.index, dtype="boolean").where(printed.notna().any(axis=1))
        parts.append(part)
    return pd.concat(parts) if parts else pd.DataFrame()
