"""Builds the tables, and the ratios to baselines.

A table has one line per model of conf/table/<name>.yaml: perplexities from the model's arrays of log-probabilities,
sizes from its run.json.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
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
from pipeline.data.predictions import folder_of, read_metrics, read_predictions

EVAL_SPLITS = ("valid", "test")  # the splits on which every model has predictions
BASELINE, TRIGRAM = "kn5-srilm", "interpolated3"  # the rows to which the page shows ratios
ENDS = ("low", "high")  # of an interval
EVALUATED = ("raw", "raw_sd", "corrected", "corrected_sd", "corrected_seen")
INTEGERS = ["n", "c", "h", "m", "seeds", "parameters"]
FIGURES = [
    "train_raw_se",
    "train_raw",
    *(f"{split}_{key}" for key in EVALUATED for split in EVAL_SPLITS),
]
FIGURES += [f"paper_{split}" for split in SPLITS]
# The columns in the order of the CSV file.
NAMES = ["row", "model", "n", "c", "h", "m", "direct", "mix", "seeds", "context", "parameters", *FIGURES]
TYPES = dict.fromkeys(INTEGERS, "Int64") | dict.fromkeys(["context", *FIGURES], float)


def folders_of(table: Table, name: str) -> list[Path]:
    """The folder of each seed of a table's model. Raises InputError, which names the stage to run, where one is
    missing."""
    return [folder_of(f"{name}/{seed}", table.predictions, stage) for seed, stage in table.names[name].items()]


def build(table: Table, corpus: Corpus) -> pd.DataFrame:
    """One line for each model of the table, indexed by its name. Perplexities are means over seeds, with the standard
    deviation (_sd) where there are several seeds.

    - <split>_raw: uncorrected, as in the paper;
    - <split>_corrected: corrected for unseen words;
    - <split>_corrected_seen: corrected, over the tokens whose word occurs in training;
    - train_raw: of the first seed, where it scored training; train_raw_se: its standard error, where it scored a part
      of training;
    - parameters: free parameters of a network, or of all networks in a mixture;
    - context: how many words before the next one can change its probability; infinite where all can.

    Raises InputError where a model's predictions are missing or of another corpus.
    """
    lines = {name: line(name, table, corpus) for name in table.names}
    return pd.DataFrame.from_dict(lines, orient="index").rename_axis("name").astype(TYPES)


def line(name: str, table: Table, corpus: Corpus) -> dict[str, object]:
    """The table's line for one model, by column."""
    folders = folders_of(table, name)
    row = table.rows.get(name, Row())
    records = {folder: record.read(folder) for folder in folders}
    for folder in folders:
        record.check_corpus(records[folder], folder, corpus)
    if any(run.without_seeds() != records[folders[0]].without_seeds() for run in records.values()):
        raise InputError(f"{', '.join(map(str, folders))}: seeds of one model with different settings: make them again")
    sizes = shape(folders[0], table.predictions)
    built = dict.fromkeys(NAMES) | {"row": row.row or name, "seeds": len(folders)} | sizes
    metrics = read_metrics(folders[0])
    built |= {key: metrics.get(key) for key in ("train_raw", "train_raw_se")}
    for split in EVAL_SPLITS:
        ids = corpus.ids(split)
        all_tokens = np.full(len(ids), True)
        seen_tokens = ~corpus.unseen[ids]
        for key, array, mask in (
            ("raw", f"raw/{split}", all_tokens),
            ("corrected", split, all_tokens),
            ("corrected_seen", split, seen_tokens),
        ):
            seeds = [perplexity(read_predictions(folder, array, len(ids))[mask]) for folder in folders]
            built[f"{split}_{key}"] = np.mean(seeds)
            if len(seeds) > 1 and f"{key}_sd" in EVALUATED:
                built[f"{split}_{key}_sd"] = np.std(seeds, ddof=1)
    return built | {f"paper_{split}": getattr(row, split) for split in SPLITS}


def trained_by(table: Table) -> str:
    """How a table's networks were trained and scored, from their run.json and metrics.json, as a sentence: recipe,
    epochs, softmax and number format. Networks are named where they differ."""
    networks = defaultdict(list)
    for name in table.names:
        for folder in folders_of(table, name):
            run = record.read(folder)
            if run.stage == "train":
                networks[_training(run, read_metrics(folder))].append(name)
    parts = [
        training + (f" ({', '.join(dict.fromkeys(names))})" if len(networks) > 1 else "")
        for training, names in networks.items()
    ]
    return f"Networks trained by {'; '.join(parts)}." if parts else "No networks."


def _training(run: record.Record, metrics: Mapping[str, object]) -> str:
    recipe = run.config["recipe"]
    softmax = f"a sampled softmax of {recipe['samples']:,}" if recipe["samples"] else "the full softmax"
    rounded = ", scored with infrequent words in bfloat16" if metrics.get("scoring") == "bfloat16" else ""
    return f"conf/recipe/{recipe['name']}.yaml, {recipe['epochs']} epochs, {softmax}{rounded}"


def shape(folder: Path, places: Sequence[str | Path]) -> dict[str, object]:
    """The sizes of the model in a folder, from its run.json and metrics.json: model (network or ngram), n, c, h, m,
    direct, mix, parameters and context."""
    run = record.read(folder)
    if run.stage == "train":
        model = run.config["model"]
        metrics = read_json(folder / "metrics.json")
        network = {"model": "network", "mix": False, "parameters": metrics["parameters"]}
        network |= {key: model[key] for key in ("n", "h", "m", "direct")} | {"context": metrics.get("context")}
        return network if network["context"] else network | {"n": None, "context": math.inf}
    if run.stage == "adapt":
        return shape(folder_of(run.config["network"], places), places) | {"context": math.inf}
    if run.stage == "ngram":
        ngram = run.config["ngram"]
        context = ngram.get("length") or ngram["order"] - 1  # length: how many words a cache holds
        return {"model": "ngram", "n": ngram["order"], "c": ngram["classes"] or None, "context": context}
    if run.stage in ("mix", "shortlist"):
        components = run.config["mix"]["components"] if run.stage == "mix" else [run.config["network"]]
        shapes = [shape(folder_of(name, places), places) for name in components]
        first = next((part for part in shapes if part["model"] == "network"), shapes[0] | {"c": None})
        parameters = sum(part.get("parameters") or 0 for part in shapes)
        contexts = [part["context"] for part in shapes if part["context"] is not None]
        context = max(contexts) if len(contexts) == len(shapes) else None
        return first | {"mix": True, "parameters": parameters or None, "context": context}
    return {"model": "ngram", "context": None}  # by another program, whose run.json has no sizes


def read(file: Path) -> pd.DataFrame:
    """A table of the stage report from its CSV file, indexed by our model's name. Raises InputError where older code
    wrote it."""
    try:
        return pd.read_csv(file, index_col="name").astype(TYPES)
    except (KeyError, ValueError) as error:
        raise InputError(f"{file} is not as the stage report writes it today ({error}): run that stage again") from None


def read_rows(reports: Path, table: Table) -> pd.DataFrame:
    """All rows of a table in the folder of reports: first those that the paper prints, then the others. Their labels
    are those of conf/table.

    Where there are intervals: their ends for valid_raw and test_raw (_low, _high), and the ratios to each baseline,
    valid_raw_to_NAME and test_raw_to_NAME, with theirs. Raises InputError without the table.
    """
    file = reports / table.csv
    if not file.is_file():
        raise InputError(f"no {file}: run `dvc repro`, or the target of make that makes this table")
    rows = pd.concat([read(path) for path in (file, file.with_name("extra.csv")) if path.is_file()])
    labels = {name: row.row for name, row in table.rows.items() if row.row}  # a new one needs no new run of the stage
    rows["row"] = [labels.get(name, label) for name, label in rows["row"].items()]
    if not (path := file.with_name("intervals.csv")).is_file():
        return rows
    # Perplexities stay those of the table, which are means over seeds; those of intervals.csv are geometric means.
    intervals = pd.read_csv(path, index_col="name")
    return rows.join(intervals.drop(columns=["valid_raw", "test_raw", "seeds"], errors="ignore"))


def label(row: pd.Series) -> str:
    """A row's label, with its order n and its number of classes c."""
    return ", ".join([row["row"], *(f"{key} = {row[key]}" for key in ("n", "c") if pd.notna(row[key]))])


def ratios(table: pd.DataFrame, baselines: list[str], intervals: pd.DataFrame) -> pd.DataFrame:
    """Each network's and mixture's perplexity over that of each baseline on the same tokens.

    Perplexities on two streams can't be compared; ratios of models on one stream can. One line per baseline and
    network, none for a baseline that the table lacks:

    - over: the baseline's name;
    - the table's figures, each divided by the baseline's, with the ending _ratio;
    - <split>_raw_ratio_low, <split>_raw_ratio_high: ends of the interval, from `intervals.build`;
    - reached: whether the raw ratios are at or below those of the paper's figures; missing where the paper prints none.
    """
    networks = table[table["model"] == "network"]
    parts = []
    keys = [key for key in EVALUATED if not key.endswith("_sd")]
    figures = [name for split in EVAL_SPLITS for name in (*(f"{split}_{key}" for key in keys), f"paper_{split}")]
    for baseline in (name for name in baselines if name in table.index):
        part = (networks[figures] / table[figures].loc[baseline]).add_suffix("_ratio")  # NaN where nothing is printed
        part.insert(0, "row", networks["row"])
        part.insert(1, "over", baseline)
        for end in ENDS:
            for split in EVAL_SPLITS:
                part[f"{split}_raw_ratio_{end}"] = intervals[f"{split}_raw_to_{baseline}_{end}"]
        ours = part[["valid_raw_ratio", "test_raw_ratio"]]
        paper = part[["paper_valid_ratio", "paper_test_ratio"]]
        above = (ours.to_numpy() > paper.to_numpy()).any(axis=1)
        part["reached"] = pd.Series(~above, part.index, dtype="boolean").where(paper.notna().any(axis=1))
        parts.append(part)
    return pd.concat(parts) if parts else pd.DataFrame()
