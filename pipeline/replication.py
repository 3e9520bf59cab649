"""Stage replication: Table 1 by several trainings beside the paper's figures, and the best rows in short; how many rows
reach the paper's ratios to n-grams; how far each training is from the paper's training and validation figures."""

import logging
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.config.stages import Replication
from pipeline.config.tables import Tables, read_tables
from pipeline.reporting import costs, table, views
from pipeline.reporting.table import TRIGRAM, YARDSTICK
from pipeline.reporting.views import VIEWS, laid_out, markdown
from pipeline.running import app

ENDINGS = {"raw": "_raw", "with share": ""}  # of a reading's columns
LATER = {"one": "best later model", "adapts": "best later model that learns from the text it reads"}

log = logging.getLogger(__name__)


def main(config: Replication) -> None:
    """Writes replication, summary, yardsticks and distance, each as .csv and .md, into config.out."""
    registry, reports, out = read_tables(Path(config.tables)), Path(config.reports), Path(config.out)
    rows = {
        name: table.read_rows(reports, each)
        for name, each in registry.items()
        if each.same_corpus and each.short and (reports / each.csv).is_file()
    }
    spent, beside = costs.read(reports / "costs.csv"), [name for name in config.trainings if name in rows]
    column = {name: registry[name].column or name for name in beside}
    shorts = {column[name]: registry[name].short for name in beside}
    built = columns({column[name]: rows[name] for name in beside}, config.more)
    for name in beside:
        built[f"{column[name]}_minutes"] = costs.minutes(spent, name)
    out.mkdir(parents=True, exist_ok=True)
    for name, frame, view in (
        ("replication", built, views.replication(shorts)),
        ("summary", summary(built, shorts, reports / config.later), VIEWS["summary"]),
        ("yardsticks", yardsticks(registry, rows, config.yardsticks), VIEWS["yardsticks"]),
        ("distance", distance(registry, rows, reports), VIEWS["distance"]),
    ):
        frame.to_csv(out / f"{name}.csv", float_format="%.6f")
        (out / f"{name}.md").write_text(markdown(laid_out(frame, view)), encoding="utf-8")
    log.info("%d rows in %s", len(built), out / "replication.md")


def columns(trained: dict[str, pd.DataFrame], more: list[str]) -> pd.DataFrame:
    """A line for each row that the paper prints, and for each in `more`: valid and test of the paper and of each
    training (raw), the latter with the share for unseen words, and ratios of the raw ones to Kneser-Ney 5 of the same
    column. An n-gram stands in each."""
    first = next(iter(trained.values()))
    rows = first[first["paper_test"].notna() | first.index.isin(more)]
    built = rows[["row", "n", "c", "h", "m"]].copy()
    for split in table.BOTH:
        built[f"paper_{split}"] = rows[f"paper_{split}"]
        for whose, its in trained.items():
            built[f"{whose}_{split}"] = its[f"{split}_raw"].reindex(rows.index)
            built[f"{whose}_{split}_share"] = its[split].reindex(rows.index)
        for whose in ("paper", *trained):
            built[f"{whose}_{split}_ratio"] = built[f"{whose}_{split}"] / built.loc[YARDSTICK, f"{whose}_{split}"]
    return built


def summary(built: pd.DataFrame, shorts: dict[str, str], later: Path) -> pd.DataFrame:
    """The best row of the paper and of each training, Kneser-Ney 5, the rows that the paper does not print, and the
    best of what came after: raw perplexity, and its ratio to Kneser-Ney 5 of the same column. Best by raw validation.

    built: see columns; shorts: what each training is called, by its columns' first word; later: timeline.csv, whose
    labels n-grams have here.
    """
    came = pd.read_csv(later, index_col="name") if later.is_file() else pd.DataFrame(columns=["row", "kind"])
    networks, ours = built[built["row"].str.startswith("MLP")], next(iter(shorts))
    lines = {}

    def add(what: str, model: str, row: pd.Series, columns: tuple[str, str], whose: str) -> None:
        lines[what] = {"model": model}
        for split, column in zip(table.BOTH, columns, strict=True):
            lines[what] |= {
                split: row[column],
                f"{split}_ratio": row[column] / built.loc[YARDSTICK, f"{whose}_{split}"],
            }

    for whose, trained in ({"paper": "of the paper"} | {each: f"by {short}" for each, short in shorts.items()}).items():
        best = networks.loc[networks[f"{whose}_valid"].idxmin()]
        add(whose, f"best row {trained}: {best['row']}", best, (f"{whose}_valid", f"{whose}_test"), whose)
    for name in (YARDSTICK, *built.index[built["paper_test"].isna()]):
        label = came["row"].get(name, built.loc[name, "row"])
        add(name, label, built.loc[name], (f"{ours}_valid", f"{ours}_test"), ours)
    for kind, head in LATER.items() if len(came) else ():
        best = came.loc[came.loc[came["kind"] == kind, "valid_raw"].idxmin()]
        add(kind, f"{head}: {best['row']}", best, ("valid_raw", "test_raw"), ours)
    return pd.DataFrame.from_dict(lines, orient="index").rename_axis("what")


def yardsticks(registry: Tables, rows: dict[str, pd.DataFrame], over: dict[str, str]) -> pd.DataFrame:
    """A line a training, n-gram and reading: how many of the networks and mixtures that the paper prints have, on
    validation, on test and on both, at most the paper's ratio to it.

    over: our n-gram, and the one whose figures are the paper's.
    """
    lines = []
    for name, its in rows.items():
        networks = its[(its["model"] == "network") & its["paper_test"].notna()]
        for ours, papers in ((each, over[each]) for each in over if each in its.index):
            what = {"table": name, "training": registry[name].short, "over": ours, "label": table.label(its.loc[ours])}
            for reading, ending in ENDINGS.items():
                reached = {
                    split: networks[f"{split}{ending}"] / its.loc[ours, f"{split}{ending}"]
                    <= networks[f"paper_{split}"] / its.loc[papers, f"paper_{split}"]
                    for split in table.BOTH
                }
                reached["both"] = reached["valid"] & reached["test"]
                counts = {key: each.sum() for key, each in reached.items()}
                lines.append(what | {"reading": reading} | counts | {"of": len(networks)})
    return pd.DataFrame(lines).set_index("table")


def distance(registry: Tables, rows: dict[str, pd.DataFrame], reports: Path) -> pd.DataFrame:
    """A line a training and network for which the paper prints a training perplexity: that of the epoch that is kept,
    summed up while it trains, and raw validation perplexity, each over the trigram's on validation; the paper's; the
    natural logs of ours over the paper's, and their root mean square over a training's networks; the epoch."""
    parts = []
    for name, its in rows.items():
        file = (reports / registry[name].csv).with_name("curves.csv")
        if not file.is_file():  # of a table without networks of its own
            continue
        curves = pd.read_csv(file).sort_values("valid_perplexity")
        best = curves.groupby(["name", "seed"]).first().groupby("name").mean()
        networks, trigram = its[its["paper_train"].notna() & its.index.isin(best.index)], its.loc[TRIGRAM]
        part = {"table": name, "training": registry[name].short, "row": networks["row"], "epoch": best["epoch"]}
        part = pd.DataFrame(part, networks.index)
        for split, ours in (("train", best["train_perplexity"]), ("valid", its["valid_raw"])):
            part[split] = ours / trigram["valid_raw"]
            part[f"paper_{split}"] = networks[f"paper_{split}"] / trigram["paper_valid"]
            part[f"{split}_log"] = np.log(part[split] / part[f"paper_{split}"])
        part["distance"] = np.sqrt(np.square(part[["train_log", "valid_log"]].to_numpy()).mean())
        parts.append(part)
    return pd.concat(parts).reset_index().set_index("table")


if __name__ == "__main__":
    app.run("replication", main, timed=True)
