"""Stage replication: does Table 1 agree with the paper's? The tables of this stage are:

- Table 1 by several trainings beside the paper's figures;
- how many rows agree with the paper;
- the comparisons that the paper makes in words;
- the training perplexities that the paper prints;
- what one change does to a row (controls).

All figures are raw. The rules for agreement were written down before the figures were known (reports/LOG.md,
2026-11-29).
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

WITHIN = (2, 4, 5)  # per cent by which a row may differ from the paper's figure, up or down
SIZES = ["n", "c", "h", "m", "direct", "mix"]

log = logging.getLogger(__name__)


def main(config: Replication) -> None:
    """Writes replication, answer, agreement, comparisons, training and controls, .csv and .md, into config.out."""
    registry = read_tables(Path(config.tables))
    reports = Path(config.reports)
    out = Path(config.out)
    compared = [{control.before, control.after} for control in config.controls.values()]
    names = {*config.trainings, *config.counted}.union(*compared)
    rows = {
        name: table.read_rows(reports, settings)
        for name, settings in registry.items()
        if name in names and (reports / settings.csv).is_file()
    }
    tables = [name for name in config.trainings if name in rows]
    prefixes = {name: registry[name].column or name for name in tables}  # of the columns of a training
    trainings = {prefixes[name]: rows[name] for name in tables}
    labels = {prefixes[name]: registry[name].short for name in tables}
    table1 = side_by_side(trainings, config.more)
    counted = {name: rows[name] for name in config.counted if name in rows}
    costs_of_items = costs.read(reports / "costs.csv")
    for name in tables:
        table1[f"{prefixes[name]}_minutes"] = costs.minutes(costs_of_items, name, continues=registry[name].continues)
    out.mkdir(parents=True, exist_ok=True)
    for name, frame, view in (
        ("replication", table1, views.replication(labels)),
        ("answer", table1.loc[config.answer], views.answer(labels)),
        ("agreement", agreement(counted, registry, config.over), VIEWS["agreement"]),
        ("comparisons", comparisons(trainings, config.comparisons), views.comparisons(labels)),
        ("training", training(registry, rows, reports), VIEWS["training"]),
        ("controls", controls(rows, registry, config.controls, reports), VIEWS["controls"]),
    ):
        frame.to_csv(out / f"{name}.csv", float_format="%.6f")
        (out / f"{name}.md").write_text(markdown(laid_out(frame.reset_index(), view)), encoding="utf-8")
    log.info("%d rows in %s", len(table1), out / "replication.md")


def side_by_side(trainings: dict[str, pd.DataFrame], also: list[str]) -> pd.DataFrame:
    """One line for each row that the paper prints, and for each row in `also`. Columns: raw perplexity on validation
    and test, the paper's and each training's; and `_raw_over`, ours over the paper's. N-grams, which are estimated in
    one way alone, stand in the columns of the first training. Their figures are the last one's, of the table that
    `make repro` makes.

    trainings: the rows of each training, by the prefix of its columns.
    """
    frames = list(trainings.values())
    first, last = frames[0], frames[-1]
    rows = first[first["paper_test"].notna() | first.index.isin(also)]
    columns = {key: rows[key] for key in ("row", *SIZES)}
    for split in table.EVAL_SPLITS:
        columns[f"paper_{split}"] = rows[f"paper_{split}"]
        for prefix, frame in trainings.items():
            shown = frame[frame["model"] == "network"]
            shown = pd.concat([shown, last[last["model"] == "ngram"]]) if frame is first else shown
            columns[f"{prefix}_{split}_raw"] = shown[f"{split}_raw"].reindex(rows.index)
            columns[f"{prefix}_{split}_raw_over"] = columns[f"{prefix}_{split}_raw"] / rows[f"paper_{split}"]
    return pd.DataFrame(columns)


def agreement(tables: dict[str, pd.DataFrame], registry: Tables, baselines: dict[str, str]) -> pd.DataFrame:
    """How many rows agree with the paper: one line for each table's networks and mixtures, one for the n-grams.

    - `<split>_raw_within_<per cent>`: rows within so many per cent (p) of the paper's figure: ours over it lies between
      1 / (1 + p / 100) and 1 + p / 100;
    - `<split>_raw_match_<n-gram>`: networks and mixtures whose ratio to that n-gram matches or beats the paper's;
    - `of`: rows in total.

    tables: their rows, by name; baselines: our n-grams, by the name in their columns.
    """
    lines = []
    for name, rows in tables.items():
        ngrams = {key: ngram for key, ngram in baselines.items() if ngram in rows.index}
        printed_rows = rows[rows["paper_test"].notna()]
        for model in ("network", "ngram"):
            part = printed_rows[printed_rows["model"] == model]
            label = f"networks and mixtures, {registry[name].short}" if model == "network" else "n-grams"
            line = {"table": name if model == "network" else "", "rows": label, "of": len(part)}
            for split in table.EVAL_SPLITS:
                ours = part[f"{split}_raw"]
                paper = part[f"paper_{split}"]
                deviation = np.log(ours / paper).abs()
                for per_cent in WITHIN:
                    line[f"{split}_raw_within_{per_cent}"] = (deviation <= np.log1p(per_cent / 100)).sum()
                if model == "network":
                    for key, ngram in ngrams.items():
                        bound = paper / rows.loc[ngram, f"paper_{split}"]
                        line[f"{split}_raw_match_{key}"] = (ours / rows.loc[ngram, f"{split}_raw"] <= bound).sum()
            lines.append(line)
    if not lines:
        return pd.DataFrame()
    # N-grams are the same in all tables; the last one's are those of `make repro`.
    counts = pd.DataFrame(lines).drop_duplicates("rows", keep="last").set_index("rows")
    return counts.astype(dict.fromkeys(counts.columns.drop("table"), "Int64"))


def comparisons(trainings: dict[str, pd.DataFrame], paper_comparisons: list[Comparison]) -> pd.DataFrame:
    """The comparisons that the paper makes in words, one line each: the gain of `better` over `than`, by the paper's
    figures (`paper_<split>_gain`) and by each training's (`<training>_<split>_raw_gain`). A gain is the perplexity of
    `than` over that of `better`, less 1."""
    first = next(iter(trainings.values()))  # the paper's figures are the same in all
    lines = {}
    for comparison in paper_comparisons:
        lines[comparison.says] = {
            f"{source}_{split}{suffix}_gain": gain(comparison, rows, split=split, prefix=prefix, suffix=suffix)
            for split in table.EVAL_SPLITS
            for source, rows, prefix, suffix in (
                ("paper", first, "paper_", ""),
                *((training, rows, "", "_raw") for training, rows in trainings.items()),
            )
        }
    return pd.DataFrame.from_dict(lines, orient="index").rename_axis("comparison")


def gain(comparison: Comparison, rows: pd.DataFrame, split: str, prefix: str, suffix: str) -> float:
    """The gain of one comparison on a split: between the rows that are best on validation, or the geometric mean over
    pairs of rows. NaN where rows or validation figures are missing.

    The figures are in the columns <prefix><split><suffix>.
    """
    better, than = ([name for name in names if name in rows.index] for names in (comparison.better, comparison.than))
    if not better or not than:
        return np.nan
    figures = rows[f"{prefix}{split}{suffix}"]
    valid = rows[f"{prefix}valid{suffix}"]
    if comparison.pairs:
        logs = np.log(figures.reindex(comparison.than).to_numpy() / figures.reindex(comparison.better).to_numpy())
        return float(np.expm1(logs.mean()))
    if valid[than].isna().all() or valid[better].isna().all():  # such as where the paper prints only test figures
        return np.nan
    return figures[valid[than].idxmin()] / figures[valid[better].idxmin()] - 1


def training(registry: Tables, rows: dict[str, pd.DataFrame], reports: Path) -> pd.DataFrame:
    """The networks whose training perplexity the paper prints, one line per training and network.

    - `epoch`: the best epoch on validation, whose weights are kept;
    - `train_raw`: exact training perplexity after that epoch, with its standard error (`train_raw_se`);
    - `train_running`: training perplexity summed up while that epoch trained;
    - `_over`: these two, and validation perplexity, over the paper's figures.
    """
    parts = []
    for name, models in rows.items():
        file = (reports / registry[name].csv).with_name("curves.csv")
        if not (registry[name].same_corpus and registry[name].short and file.is_file()):
            continue
        curves = pd.read_csv(file).sort_values(["valid_perplexity", "epoch"])
        best_epochs = curves.groupby(["name", "seed"]).first().groupby("name").mean()
        networks = models[models["paper_train"].notna() & models.index.isin(best_epochs.index)]
        part = pd.DataFrame({"table": name, "training": registry[name].short, "row": networks["row"]})
        part["epoch"] = best_epochs["epoch"]
        part["paper_train"] = networks["paper_train"]
        part["train_raw"] = networks["train_raw"]
        part["train_raw_se"] = networks["train_raw_se"]
        part["train_running"] = best_epochs["train_perplexity"]
        for column in ("train_raw", "train_running"):
            part[f"{column}_over"] = part[column] / part["paper_train"]
        part["valid_raw_over"] = networks["valid_raw"] / networks["paper_valid"]
        parts.append(part)
    if not parts:
        return pd.DataFrame()
    lines = pd.concat(parts).set_index("table", append=True)
    return lines[~lines.duplicated(["row", "epoch", "train_raw"])]  # a network of another table may stand in one too


def controls(
    rows: dict[str, pd.DataFrame], registry: Tables, by_title: dict[str, Control], reports: Path
) -> pd.DataFrame:
    """What one change does: one line per change and row, with raw perplexity before and after it (`before_<split>`,
    `after_<split>`), both means over the `seeds` that the two have in common; the second over the first, less 1
    (`<split>_change`); and the paper's. What is missing in one of the two tables is left out."""
    by_seed = {
        name: pd.read_csv((reports / registry[name].csv).with_name("seeds.csv"), index_col=["name", "seed"])
        for name in rows
    }
    lines = []
    for title, control in by_title.items():
        before, after = (by_seed.get(name, pd.DataFrame()) for name in (control.before, control.after))
        for name, changed in zip(control.rows, control.changed or control.rows, strict=True):
            if name not in before.index or changed not in after.index:
                continue
            pair = before.loc[name], after.loc[changed]
            seeds = pd.merge(*pair, left_index=True, right_index=True, suffixes=("_before", "_after"))
            means = seeds.mean()
            line = {"change": title, "row": table.label(rows[control.before].loc[name]), "seeds": len(seeds)}
            for split in table.EVAL_SPLITS:
                old, new = means[f"{split}_raw_before"], means[f"{split}_raw_after"]
                line |= {f"before_{split}": old, f"after_{split}": new, f"{split}_change": new / old - 1}
                line |= {f"paper_{split}": rows[control.before].loc[name, f"paper_{split}"]}
            lines.append(line)
    kinds = ("before_{}", "after_{}", "{}_change", "paper_{}")
    columns = [kind.format(split) for kind in kinds for split in table.EVAL_SPLITS]
    return pd.DataFrame(lines, columns=["change", "row", "seeds", *columns]).set_index("change")


if __name__ == "__main__":
    app.run("replication", main, timed=True)
