"""Stage timeline: models that came after the paper, one line per model in the order of years, as a table and a figure.
A second table shows how much each step contributed to the way from the first model to the best."""

import logging
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.config.tables import read_tables
from pipeline.config.timeline import Timeline
from pipeline.core.common.errors import InputError
from pipeline.reporting import costs, figures, style, table
from pipeline.reporting.views import VIEWS, laid_out, markdown
from pipeline.running import app

EFFORT = ["parameters", "context", "minutes", "trials"]  # a model's size, and the cost of training and search

log = logging.getLogger(__name__)


def main(config: Timeline) -> None:
    """Writes timeline.csv, .md and .svg, steps.csv and .md into config.out."""
    models = lines(config)
    step_lines = steps(models)
    out = Path(config.out)
    out.mkdir(parents=True, exist_ok=True)
    models.drop(columns="step").round(5).to_csv(out / "timeline.csv")
    step_lines.round(4).to_csv(out / "steps.csv", index=False)
    text = markdown(laid_out(models.drop(columns=["valid_raw_sd", "test_raw_sd"]), VIEWS["timeline"]))
    (out / "timeline.md").write_text(text, encoding="utf-8")
    (out / "steps.md").write_text(markdown(laid_out(step_lines, VIEWS["steps"])), encoding="utf-8")
    (out / "timeline.svg").write_text(style.alone(figures.timeline(models)), encoding="utf-8")
    log.info("%d models in %s", len(models), out / "timeline.md")


def lines(config: Timeline) -> pd.DataFrame:
    """One line per row with a year: year, source, kind, and the table's figures; CPU minutes of a training or of
    test-time adaptation; trials on validation that chose the settings; and ratios of the raw figures to the baseline
    in the first table, with the intervals of the row's own table.

    Raises InputError for a baseline, a row or a search that is not there.
    """
    registry = read_tables(Path(config.tables))
    reports = Path(config.reports)
    tables = {name: table.read_rows(reports, registry[name]) for name in config.of}
    first = tables[config.of[0]]
    costs_of_items = costs.read(reports / "costs.csv")
    if config.baseline not in first.index:
        raise InputError(f"baseline={config.baseline}: choose a row of {registry[config.of[0]].csv}")
    evaluated = [key for key in table.EVALUATED if key != "corrected_seen"]
    figure_columns = [f"{split}_{key}" for split in table.EVAL_SPLITS for key in evaluated]
    parts = []
    for name, rows in tables.items():
        settings = registry[name]
        dated_rows = {name: row for name, row in settings.rows.items() if row.year}
        if missing := dated_rows.keys() - set(rows.index):
            names = ", ".join(sorted(missing))
            raise InputError(f"{settings.csv} has no row {names}: run the stage report of {settings.dvc}")
        part = rows.loc[[*dated_rows]].reindex(columns=["row", "seeds", "parameters", "context", *figure_columns])
        part["minutes"] = costs.minutes(costs_of_items, name, continues=settings.continues)
        part["trials"] = [sum(trials(reports, grid) for grid in row.search) or None for row in dated_rows.values()]
        part["row"] += f", {settings.short}" if settings.short else ""
        for key in ("year", "source", "kind", "step"):
            part[key] = [getattr(row, key) for row in dated_rows.values()]
        for split in table.EVAL_SPLITS:
            part[f"{split}_raw_ratio"] = part[f"{split}_raw"] / first.loc[config.baseline, f"{split}_raw"]
            for end in table.ENDS:
                part[f"{split}_raw_ratio_{end}"] = rows.get(f"{split}_raw_to_{config.baseline}_{end}", np.nan)
        parts.append(part.rename(index={name: row.point or name for name, row in dated_rows.items()}))
    ratios = [f"{split}_raw_ratio{end}" for split in table.EVAL_SPLITS for end in ("", "_low", "_high")]
    models = pd.concat(parts)[["row", "year", "source", "kind", "seeds", *EFFORT, *figure_columns, "step", *ratios]]
    models = models.astype({"parameters": "Int64", "trials": "Int64"}).round({"minutes": 1})
    return models.sort_values(["year", "test_corrected"], ascending=[True, False], kind="stable")


def trials(reports: Path, grid: str) -> int:
    """The number of trainings of a search. grid: its name in conf/searches.yaml."""
    file = reports / "searches" / f"{grid}.csv"
    if not file.is_file():
        raise InputError(f"no {file}, which a row's `search` names: run `make search GRID={grid}`")
    return len(pd.read_csv(file))


def steps(models: pd.DataFrame) -> pd.DataFrame:
    """The way from the first model to the best, over the models that end a step: their perplexity, corrected for unseen
    words, and each step's share of the way in the logarithm of perplexity."""
    # By perplexity, not by year: the recipe of an earlier model may have a later year.
    ends = models[models["step"] != ""].sort_values("valid_corrected", ascending=False, kind="stable")
    path = pd.concat([models.iloc[:1], ends])
    frame = pd.DataFrame({"what": ends["step"], "from": path["row"].to_numpy()[:-1], "to": ends["row"]})
    for split in table.EVAL_SPLITS:
        column = f"{split}_corrected"
        gains = -np.diff(np.log(path[column]))
        frame = frame.assign(**{column: ends[column], f"{column}_share": gains / gains.sum()})
    return frame


if __name__ == "__main__":
    app.run("timeline", main, timed=True)
