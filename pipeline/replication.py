"""Stage replication: Table 1 by several trainings beside the paper's figures, and the best rows in short; how many rows
reach the paper's ratios to n-grams; how far each training is from the paper's training and validation figures."""

import logging
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.config.stages import Replication
from pipeline.config.tables import Table, Tables, read_tables
from pipeline.reporting import costs, table, views
from pipeline.reporting.views import VIEWS, laid_out, markdown
from pipeline.running import app

SPLITS = ("valid", "test")
YARDSTICK, TRIGRAM = "kn5", "interpolated3"
READINGS = {"raw": "_raw", "with share": ""}
LATER = {"one": "best later model", "adapts": "best later model that learns from the text it reads"}

log = logging.getLogger(__name__)


def main(config: Replication) -> None:
    """Writes replication, summary, yardsticks and distance, each as .csv and .md, into config.out."""
    registry, reports, out = read_tables(Path(config.tables)), Path(config.reports), Path(config.out)
    every = [
        name for name, each in registry.items() if each.same_corpus and each.short and (reports / each.csv).is_file()
    ]
    listed = [registry[name] for name in every if registry[name].column]
    shorts = {each.column: each.short for each in listed}
    built = columns({each.column: table.read_rows(reports, each) for each in listed}, config.more)
    spent = costs.read(reports / "costs.csv")
    for name in every:
        if column := registry[name].column:
            built[f"{column}_minutes"] = minutes(spent, name)
    out.mkdir(parents=True, exist_ok=True)
    for name, frame, view in (
        ("replication", built, views.replication(shorts)),
        (
            "summary",
            summary(built, shorts, registry[config.later], reports),
            VIEWS["summary"],
        ),
        ("yardsticks", yardsticks(registry, reports, every, config.yardsticks), VIEWS["yardsticks"]),
        ("distance", distance(registry, reports, every), VIEWS["distance"]),
    ):
        frame.to_csv(out / f"{name}.csv", float_format="%.4f")
        (out / f"{name}.md").write_text(markdown(laid_out(frame, view)), encoding="utf-8")
    log.info("%d rows in %s", len(built), out / "replication.md")


def columns(trained: dict[str, pd.DataFrame], more: list[str]) -> pd.DataFrame:
    """A line for each row that the paper prints, and for each in `more`: valid and test of the paper and of each
    training (raw), the latter with the share for unseen words, and ratios of the raw ones to Kneser-Ney 5 of the same
    column. An n-gram stands in each."""
    first = next(iter(trained.values()))
    rows = first[first["paper_test"].notna() | first.index.isin(more)]
    built = rows[["row", "n", "c", "h", "m"]].copy()
    for split in SPLITS:
        built[f"paper_{split}"] = rows[f"paper_{split}"]
        for whose, its in trained.items():
            built[f"{whose}_{split}"] = its[f"{split}_raw"].reindex(rows.index)
            built[f"{whose}_{split}_share"] = its[split].reindex(rows.index)
        for whose in ("paper", *trained):
            built[f"{whose}_{split}_ratio"] = built[f"{whose}_{split}"] / built.loc[YARDSTICK, f"{whose}_{split}"]
    return built


def minutes(spent: pd.DataFrame, name: str) -> pd.Series:
    """What training each of a table's networks took, scoring included, the mean over seeds; spent: see costs."""
    trained = spent[(spent["table"] == name) & spent["stage"].str.startswith("train")]
    network = trained["item"].str.extract(r"^train\w*-(.+)-\d+$", expand=False)
    return trained.groupby(network)["seconds"].mean() / 60


def summary(built: pd.DataFrame, shorts: dict[str, str], came: Table, reports: Path) -> pd.DataFrame:
    """The best row of the paper and of each training, Kneser-Ney 5, the rows that the paper does not print, and the
    best of what came after: raw perplexity, and its ratio to Kneser-Ney 5 of the same column. Best by raw validation.

    built: see columns; shorts: what each training is called, by its columns' first word; came: the table of what came
    after, whose labels n-grams have here.
    """
    networks, ours = built[built["row"].str.startswith("MLP")], next(iter(shorts))
    lines = {}
    for whose, trained in ({"paper": "of the paper"} | {each: f"by {short}" for each, short in shorts.items()}).items():
        best = networks.loc[networks[f"{whose}_valid"].idxmin()]
        lines[whose] = {"model": f"best row {trained}: {best['row']}"} | _raw(best, whose)
    for name in (YARDSTICK, *built.index[built["paper_test"].isna()]):
        label = came.rows[name].row if name in came.rows else built.loc[name, "row"]
        lines[name] = {"model": label} | _raw(built.loc[name], ours)
    if (reports / came.csv).is_file():
        rows = table.read_rows(reports, came)
        kinds = pd.Series({name: came.rows[name].kind for name in rows.index if came.rows[name].year})
        for kind, head in LATER.items():
            best = rows.loc[rows.loc[kinds.index[kinds == kind], "valid_raw"].idxmin()]
            raw = {split: best[f"{split}_raw"] for split in SPLITS}
            ratios = {f"{split}_ratio": raw[split] / built.loc[YARDSTICK, f"{ours}_{split}"] for split in SPLITS}
            lines[kind] = {"model": f"{head}: {best['row']}"} | raw | ratios
    return pd.DataFrame.from_dict(lines, orient="index").rename_axis("what")


def _raw(row: pd.Series, whose: str) -> dict[str, float]:
    """Of a line of `columns`: what one training has."""
    return {f"{split}{end}": row[f"{whose}_{split}{end}"] for split in SPLITS for end in ("", "_ratio")}


def yardsticks(registry: Tables, reports: Path, names: list[str], over: dict[str, str]) -> pd.DataFrame:
    """A line a training, n-gram and reading: how many of the networks and mixtures that the paper prints have, on
    validation, on test and on both, at most the paper's ratio to it.

    over: our n-gram, and the one whose figures are the paper's.
    """
    lines = []
    for name in names:
        rows = table.read_rows(reports, registry[name])
        networks = rows[(rows["model"] == "network") & rows["paper_test"].notna()]
        for ours, papers in ((each, over[each]) for each in over if each in rows.index):
            for reading, ending in READINGS.items():
                reached = {
                    split: networks[f"{split}{ending}"] / rows.loc[ours, f"{split}{ending}"]
                    <= networks[f"paper_{split}"] / rows.loc[papers, f"paper_{split}"]
                    for split in SPLITS
                }
                counts = {split: each.sum() for split, each in reached.items()}
                both = (reached["valid"] & reached["test"]).sum()
                what = {
                    "table": name,
                    "training": registry[name].short,
                    "over": ours,
                    "label": table.label(rows.loc[ours]),
                }
                lines.append(what | {"reading": reading} | counts | {"both": both, "of": len(networks)})
    return pd.DataFrame(lines).set_index("table")


def distance(registry: Tables, reports: Path, names: list[str]) -> pd.DataFrame:
    """A line a training and network for which the paper prints a training perplexity: that of the epoch that is kept,
    summed up while it trains, and raw validation perplexity, each over the trigram's on validation; the paper's; the
    natural logs of ours over the paper's, and their root mean square over a training's networks; the epoch."""
    parts = [_distance(name, registry[name], reports) for name in names]
    return pd.concat([part for part in parts if len(part)])


def _distance(name: str, listed: Table, reports: Path) -> pd.DataFrame:
    rows, file = table.read_rows(reports, listed), (reports / listed.csv).with_name("curves.csv")
    if not file.is_file():  # of a table without networks of its own
        return pd.DataFrame()
    curves = pd.read_csv(file)
    best = curves.sort_values("valid_perplexity").groupby(["name", "seed"]).first().groupby("name").mean()
    networks = rows[rows["paper_train"].notna() & rows.index.isin(best.index)]
    trigram = rows.loc[TRIGRAM]
    lines = pd.DataFrame({"training": listed.short, "row": networks["row"], "epoch": best["epoch"]}, networks.index)
    for split, ours in (("train", best["train_perplexity"]), ("valid", rows["valid_raw"])):
        lines[split] = ours / trigram["valid_raw"]
        lines[f"paper_{split}"] = networks[f"paper_{split}"] / trigram["paper_valid"]
        lines[f"{split}_log"] = np.log(lines[split] / lines[f"paper_{split}"])
    square = np.square(lines[["train_log", "valid_log"]].to_numpy()).mean()
    return lines.assign(table=name, distance=np.sqrt(square)).reset_index().set_index("table")


if __name__ == "__main__":
    app.run("replication", main, timed=True)
