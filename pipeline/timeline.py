"""Stage timeline: what came after the paper, a model a line in the order of the years, as table and picture; and how
much of the way from the first to the best each step went."""

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

EFFORT = ["parameters", "context", "minutes", "trials"]  # of a model: its size, and what it took

log = logging.getLogger(__name__)


def main(config: Timeline) -> None:
    """Writes timeline.csv, .md and .svg, steps.csv and .md into config.out."""
    built, out = lines(config), Path(config.out)
    walked = steps(built)
    out.mkdir(parents=True, exist_ok=True)
    built.drop(columns="step").round(4).to_csv(out / "timeline.csv")
    walked.round(4).to_csv(out / "steps.csv", index=False)
    text = markdown(laid_out(built.drop(columns=["valid_raw_sd", "test_raw_sd"]), VIEWS["timeline"]))
    (out / "timeline.md").write_text(text, encoding="utf-8")
    (out / "steps.md").write_text(markdown(laid_out(walked, VIEWS["steps"])), encoding="utf-8")
    (out / "timeline.svg").write_text(style.alone(figures.timeline(built)), encoding="utf-8")
    log.info("%d models in %s", len(built), out / "timeline.md")


def lines(config: Timeline) -> pd.DataFrame:
    """A line for each row with a year: year, source, kind, the table's figures, core-minutes of a training or of
    adapting, trials on validation that chose the settings, and ratios of the raw figures to the yardstick of the first
    table, with the intervals that the row's own table has."""
    registry, reports = read_tables(Path(config.tables)), Path(config.reports)
    tables = {name: table.read_rows(reports, registry[name]) for name in config.of}
    first, spent = tables[config.of[0]], costs.read(reports / "costs.csv")
    if config.yardstick not in first.index:
        raise InputError(f"yardstick={config.yardstick}: choose a row of {registry[config.of[0]].csv}")
    shown = [f"{split}{end}" for split in table.BOTH for end in ("_raw", "_raw_sd", "", "_sd")]
    parts = []
    for name, rows in tables.items():
        listed = registry[name]
        dated = {name: row for name, row in listed.rows.items() if row.year}
        if missing := dated.keys() - set(rows.index):
            names = ", ".join(sorted(missing))
            raise InputError(f"{listed.csv} has no row {names}: run the stage report of {listed.dvc}")
        part = rows.loc[[*dated]].reindex(columns=["row", "seeds", "parameters", "context", *shown])
        part["minutes"] = costs.minutes(spent, name)
        part["trials"] = [sum(trials(reports, grid) for grid in row.search) or None for row in dated.values()]
        part["row"] += f", {listed.short}" if listed.short else ""
        for key in ("year", "source", "kind", "step"):
            part[key] = [getattr(row, key) for row in dated.values()]
        for split, ratio in (("valid", f"valid_to_{config.yardstick}"), ("test", f"to_{config.yardstick}")):
            part[f"{split}_ratio"] = part[f"{split}_raw"] / first.loc[config.yardstick, f"{split}_raw"]
            for end in table.ENDS:
                part[f"{split}_ratio_{end}"] = rows.get(f"{ratio}_{end}", np.nan)
        parts.append(part.rename(index={name: row.point or name for name, row in dated.items()}))
    ratios = [f"{split}_ratio{end}" for split in table.BOTH for end in ("", "_low", "_high")]
    built = pd.concat(parts)[["row", "year", "source", "kind", "seeds", *EFFORT, *shown, "step", *ratios]]
    built = built.astype({"parameters": "Int64", "trials": "Int64"}).round({"minutes": 1})
    return built.sort_values(["year", "test"], ascending=[True, False], kind="stable")


def trials(reports: Path, grid: str) -> int:
    """How many trainings a search made, by its name in conf/searches.yaml."""
    file = reports / "searches" / f"{grid}.csv"
    if not file.is_file():
        raise InputError(f"no {file}, which a row's `search` names: run `make search GRID={grid}`")
    return len(pd.read_csv(file))


def steps(built: pd.DataFrame) -> pd.DataFrame:
    """The way from the first model over those that end a step: the perplexity (with share) there, and the step's share
    of the way in the logarithm of perplexity."""
    # Not by year: a recipe's may be later.
    ends = built[built["step"] != ""].sort_values("valid", ascending=False, kind="stable")
    path = pd.concat([built.iloc[:1], ends])
    walked = pd.DataFrame({"what": ends["step"], "from": path["row"].to_numpy()[:-1], "to": ends["row"]})
    for split in table.BOTH:
        went = -np.diff(np.log(path[split]))
        walked = walked.assign(**{split: ends[split], f"{split}_share": went / went.sum()})
    return walked


if __name__ == "__main__":
    app.run("timeline", main, timed=True)
