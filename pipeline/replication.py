"""Stage replication: Table 1 by several trainings beside the paper's figures, how many rows agree with it, the
comparisons that the paper makes in words, the training perplexities that it prints, and what the controls change.

All figures are raw, as the models give them. The rules for what agrees were written down before the figures
(reports/LOG.md, 2026-11-29).
"""

import logging
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.config.replication import Comparison, Control, Replication
from pipeline.config.tables import Tables, read_tables
from pipeline.reporting import costs, table, views
from pipeline.reporting.views import VIEWS, laid_out, markdown
from pipeline.running import app

SHARES = (2, 4, 5)  # per cent that a row may be off the paper's figure, either way
SHAPE = ["n", "c", "h", "m"]

log = logging.getLogger(__name__)


def main(config: Replication) -> None:
    """Writes replication, answer, agreement, comparisons, training and controls, .csv and .md, into config.out."""
    registry, reports, out = read_tables(Path(config.tables)), Path(config.reports), Path(config.out)
    named = {*config.trainings, *(name for control in config.controls.values() for name in control.tables)}
    rows = {
        name: table.read_rows(reports, listed)
        for name, listed in registry.items()
        if name in named and (reports / listed.csv).is_file()
    }
    trainings = [name for name in config.trainings if name in rows]
    column = {name: registry[name].column or name for name in trainings}
    trained = {column[name]: rows[name] for name in trainings}
    shorts = {column[name]: registry[name].short for name in trainings}
    replicated = side_by_side(trained, config.more)
    spent = costs.read(reports / "costs.csv")
    for name in trainings:
        replicated[f"{column[name]}_minutes"] = costs.minutes(spent, name)
    out.mkdir(parents=True, exist_ok=True)
    for name, frame, view in (
        ("replication", replicated, views.replication(shorts)),
        ("answer", replicated.loc[config.answer], views.answer(shorts)),
        ("agreement", agreement(trained, shorts, config.over), VIEWS["agreement"]),
        ("comparisons", comparisons(trained, config.comparisons), views.comparisons(shorts)),
        ("training", training(registry, rows, reports), VIEWS["training"]),
        ("controls", controls(registry, rows, config.controls), VIEWS["controls"]),
    ):
        frame.to_csv(out / f"{name}.csv", float_format="%.6f")
        (out / f"{name}.md").write_text(markdown(laid_out(frame.reset_index(), view)), encoding="utf-8")
    log.info("%d rows in %s", len(replicated), out / "replication.md")


def side_by_side(trained: dict[str, pd.DataFrame], more: list[str]) -> pd.DataFrame:
    """A line for each row that the paper prints, and for each in `more`: raw perplexity on validation and test, the
    paper's and each training's, and `_over`, ours over the paper's. An n-gram stands in each training's columns.

    trained: the rows of each training, by the first word of its columns.
    """
    first = next(iter(trained.values()))
    rows = first[first["paper_test"].notna() | first.index.isin(more)]
    columns = {key: rows[key] for key in ("row", *SHAPE)}
    for split in table.BOTH:
        columns[f"paper_{split}"] = rows[f"paper_{split}"]
        for whose, theirs in trained.items():
            columns[f"{whose}_{split}_raw"] = theirs[f"{split}_raw"].reindex(rows.index)
            columns[f"{whose}_{split}_over"] = columns[f"{whose}_{split}_raw"] / rows[f"paper_{split}"]
    return pd.DataFrame(columns)


def agreement(trained: dict[str, pd.DataFrame], shorts: dict[str, str], over: dict[str, str]) -> pd.DataFrame:
    """How many rows agree with the paper, a line for each training's networks and mixtures and one for the n-grams.

    Columns `<split>_<share>`: rows within so many per cent of the paper's figure, ours over it between 1 / (1 + share)
    and 1 + share; `<split>_to_<n-gram>`: of the networks and mixtures those whose ratio to that n-gram is the paper's
    or lower; `of`: rows in all. over: our n-gram, by the name that its columns have.
    """
    lines = []
    for whose, rows in trained.items():
        known = {key: ngram for key, ngram in over.items() if ngram in rows.index}
        printed = rows[rows["paper_test"].notna()]
        for model in ("network", "ngram"):
            part = printed[printed["model"] == model]
            label = f"networks and mixtures, {shorts[whose]}" if model == "network" else "n-grams"
            line = {"training": whose if model == "network" else "", "rows": label, "of": len(part)}
            for split in table.BOTH:
                ours, printed_figure = part[f"{split}_raw"], part[f"paper_{split}"]
                off = np.log(ours / printed_figure).abs()
                line |= {f"{split}_{share}": (off <= np.log1p(share / 100)).sum() for share in SHARES}
                if model == "network":
                    for key, ngram in known.items():
                        bound = printed_figure / rows.loc[ngram, f"paper_{split}"]
                        line[f"{split}_to_{key}"] = (ours / rows.loc[ngram, f"{split}_raw"] <= bound).sum()
            lines.append(line)
    counted = pd.DataFrame(lines).drop_duplicates("rows").set_index("rows")  # n-grams are the same in all trainings
    return counted.astype(dict.fromkeys(counted.columns.drop("training"), "Int64"))


def comparisons(trained: dict[str, pd.DataFrame], listed: list[Comparison]) -> pd.DataFrame:
    """What the paper compares in words, a line a comparison: by how much `better` gains over `than`, the perplexity of
    the one over that of the other less 1, by the paper's figures and by each training's."""
    paper = next(iter(trained.values()))
    lines = {}
    for comparison in listed:
        lines[comparison.says] = {
            f"{whose}_{split}": gain(comparison, rows, split, prefix, suffix)
            for split in table.BOTH
            for whose, rows, prefix, suffix in (
                ("paper", paper, "paper_", ""),
                *((whose, rows, "", "_raw") for whose, rows in trained.items()),
            )
        }
    return pd.DataFrame.from_dict(lines, orient="index").rename_axis("comparison")


def gain(comparison: Comparison, rows: pd.DataFrame, split: str, prefix: str, suffix: str) -> float:
    """The gain of one comparison on a split: of the rows that are best on validation, or the geometric mean over pairs;
    NaN where a row is missing, or its figures on validation."""
    better, than = ([name for name in names if name in rows.index] for names in (comparison.better, comparison.than))
    if not better or not than:
        return np.nan
    figures, valid = rows[f"{prefix}{split}{suffix}"], rows[f"{prefix}valid{suffix}"]
    if comparison.pairs:
        logs = np.log(figures.reindex(comparison.than).to_numpy() / figures.reindex(comparison.better).to_numpy())
        return float(np.expm1(logs.mean()))
    if valid[than].isna().all() or valid[better].isna().all():  # such as those of a paper that prints test alone
        return np.nan
    return figures[valid[than].idxmin()] / figures[valid[better].idxmin()] - 1


def training(registry: Tables, rows: dict[str, pd.DataFrame], reports: Path) -> pd.DataFrame:
    """The training perplexities that the paper prints, a line a training and network: exact at the kept epoch
    (`train_raw`, with its standard error), running (summed up while that epoch trained), and validation, each also over
    the paper's; `epoch`: the kept one, the best on validation."""
    parts = []
    for name, own in rows.items():
        file = (reports / registry[name].csv).with_name("curves.csv")
        if not (registry[name].same_corpus and registry[name].short and file.is_file()):
            continue
        curves = pd.read_csv(file).sort_values(["valid_perplexity", "epoch"])
        kept = curves.groupby(["name", "seed"]).first().groupby("name").mean()
        networks = own[own["paper_train"].notna() & own.index.isin(kept.index)]
        part = pd.DataFrame({"table": name, "training": registry[name].short, "row": networks["row"]})
        part["epoch"], part["paper_train"] = kept["epoch"], networks["paper_train"]
        part["train_raw"], part["train_se"] = networks["train"], networks["train_se"]
        part["train_running"] = kept["train_perplexity"]
        for column in ("train_raw", "train_running"):
            part[f"{column}_over"] = part[column] / part["paper_train"]
        part["valid_raw_over"] = networks["valid_raw"] / networks["paper_valid"]
        parts.append(part)
    return pd.concat(parts).set_index("table", append=True) if parts else pd.DataFrame()


def controls(registry: Tables, rows: dict[str, pd.DataFrame], listed: dict[str, Control]) -> pd.DataFrame:
    """What one change does, a line a control, row and setting: raw perplexity, and the paper's. A row that is not in
    all of the control's tables is left out."""
    lines = []
    for title, control in listed.items():
        for name in control.rows:
            places = [place for place in control.tables if place in rows and name in rows[place].index]
            for place in places if len(places) == len(control.tables) else ():
                row = rows[place].loc[name]
                line = {"control": title, "row": table.label(row), "setting": registry[place].short}
                for split in table.BOTH:
                    line |= {f"{split}_raw": row[f"{split}_raw"], f"paper_{split}": row[f"paper_{split}"]}
                lines.append(line)
    columns = ["control", "row", "setting", *(f"{split}_raw" for split in table.BOTH), "paper_valid", "paper_test"]
    return pd.DataFrame(lines, columns=columns).set_index("control")


if __name__ == "__main__":
    app.run("replication", main, timed=True)
