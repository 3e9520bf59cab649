"""Stage timeline: what came after the paper, a model a line in the order of the years, as table and picture; and how
much of the way from the first to the best each step went."""

import logging
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.config.stages import Timeline
from pipeline.config.tables import read_tables
from pipeline.data.errors import InputError
from pipeline.reporting import figures, style, table
from pipeline.reporting.views import VIEWS, laid_out, markdown
from pipeline.running import app

SPLITS = ("valid", "test")
ENDINGS = ("", "_low", "_high")
log = logging.getLogger(__name__)


def main(config: Timeline) -> None:
    """Writes timeline.csv, .md and .svg, steps.csv and .md into config.out, and the table into the README."""
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
    """A line for each row with a year: year, source, kind, the table's figures, and ratios to the yardstick, with
    intervals where there are: of the raw figures, as in the table of intervals."""
    registry, reports = read_tables(Path(config.tables)), Path(config.reports)
    shown = [f"{split}{end}" for split in SPLITS for end in ("_raw", "_raw_sd", "", "_sd")]
    parts = []
    for listed in (registry[name] for name in config.of):
        rows = {name: row for name, row in listed.rows.items() if row.year}
        if not rows:
            continue
        part = table.read_rows(reports, listed)
        if missing := rows.keys() - set(part.index):
            raise InputError(
                f"{listed.csv} has no row {', '.join(sorted(missing))}: run the stage report of {listed.dvc}"
            )
        part = part.loc[[*rows], ["row", "seeds", *shown]]
        if listed.short:
            part["row"] += f", {listed.short}"
        for key in ("year", "source", "kind", "step"):
            part[key] = [getattr(row, key) for row in rows.values()]
        parts.append(part.rename(index={name: row.point or name for name, row in rows.items()}))
    first = registry[config.of[0]]
    rows = table.read_rows(reports, first)
    if config.yardstick not in rows.index:
        raise InputError(f"yardstick={config.yardstick}: choose a row of {first.csv}")
    yardstick = rows.loc[config.yardstick]
    intervals = pd.read_csv((reports / first.csv).with_name("intervals.csv"), index_col="name")
    intervals = intervals.loc[intervals.index.isin(parts[0].index)]
    built = pd.concat(parts)[["row", "year", "source", "kind", "seeds", *shown, "step"]]
    for split, prefix in zip(SPLITS, ("valid_", ""), strict=True):
        for end in ENDINGS:
            built[f"{split}_ratio{end}"] = intervals[f"{prefix}to_{config.yardstick}{end}"]
        built[f"{split}_ratio"] = built[f"{split}_raw"] / yardstick[f"{split}_raw"]
    return built.sort_values(["year", "test"], ascending=[True, False], kind="stable")


def steps(built: pd.DataFrame) -> pd.DataFrame:
    """The way from the first model over those that end a step: the perplexity (with share) there, and the step's share
    of the way in the logarithm of perplexity."""
    ends = built[built["step"] != ""].sort_values("valid", ascending=False)  # not by year: a recipe's may be later
    path = pd.concat([built.iloc[:1], ends])
    walked = pd.DataFrame({"what": ends["step"], "from": path["row"].to_numpy()[:-1], "to": ends["row"]})
    for split in SPLITS:
        went = -np.diff(np.log(path[split]))
        walked = walked.assign(**{split: ends[split], f"{split}_share": went / went.sum()})
    return walked


if __name__ == "__main__":
    app.run("timeline", main, timed=True)
