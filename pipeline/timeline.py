"""Stage timeline: what came after the paper, a model a line in the order of the years, as table and picture; and how
much of the way from the first to the best each step went."""

import logging
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from pipeline.config.stages import Timeline
from pipeline.config.tables import KINDS, read_tables
from pipeline.data.errors import InputError
from pipeline.reporting import style, table, views
from pipeline.reporting.cells import laid_out, markdown
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
    text = markdown(laid_out(built.drop(columns=["valid_raw_sd", "test_raw_sd"]), views.TIMELINE))
    (out / "timeline.md").write_text(text, encoding="utf-8")
    (out / "steps.md").write_text(markdown(laid_out(walked, views.STEPS)), encoding="utf-8")
    (out / "timeline.svg").write_text(style.alone(draw(built)), encoding="utf-8")
    log.info("%d models in %s", len(built), out / "timeline.md")


def lines(config: Timeline) -> pd.DataFrame:
    """A line for each row with a year: year, source, kind, the table's figures, and ratios to the yardstick, with
    intervals where there are: of the raw figures, as in the table of intervals."""
    registry, reports = read_tables(Path(config.tables)), Path(config.reports)
    figures = [f"{split}{end}" for split in SPLITS for end in ("_raw", "_raw_sd", "", "_sd")]
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
        part = part.loc[[*rows], ["row", "seeds", *figures]]
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
    built = pd.concat(parts)[["row", "year", "source", "kind", "seeds", *figures, "step"]]
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


def draw(built: pd.DataFrame) -> str:
    """Test perplexity, with share, by year; a line through the best of what there was; an SVG."""
    with style.figure(8, 4.8) as figure:
        axes = figure.add_subplot()
        marks = dict(zip(KINDS, ("o", "s", "^"), strict=True))
        for (kind, label), colour in zip(KINDS.items(), style.COLOURS, strict=False):
            part = built[built["kind"] == kind]
            axes.plot(part["year"], part["test"], marks[kind], color=colour, label=label)
        by_year = built.sort_values(["year", "valid"]).groupby("year").first()
        best = by_year[by_year["valid"] == by_year["valid"].cummin()]["test"]
        path = best.reindex(by_year.index).ffill()
        label = "the best so far, by validation"
        axes.step(path.index, path, where="post", linewidth=1, color=style.INK, alpha=0.4, label=label)
        axes.set_yscale("log")
        ticks = [tick for tick in (100, 125, 150, 175, 200, 250, 300, 350, 400) if tick < 1.1 * built["test"].max()]
        axes.set_yticks(ticks, map(str, ticks))
        axes.minorticks_off()
        axes.set_xlim(built["year"].min() - 1, built["year"].max() + 9)
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_xlabel("year of the paper that a model is from")
        axes.set_ylabel("test perplexity on Brown, with share")
        axes.legend(fontsize=9, loc="lower left")
        _label(axes, built)
        return style.svg(figure)


def _label(axes: Axes, built: pd.DataFrame) -> None:
    """Each model's name beside its point; below the names above it, where they would stand on one another."""
    point = axes.figure.dpi / 72  # in pixels
    placed: list[tuple[float, float]] = []
    for _, line in built.sort_values("test", ascending=False).iterrows():
        x, y = axes.transData.transform((line["year"], line["test"]))
        low = min([y, *(other - 9 * point for near, other in placed if abs(near - x) < 150 * point)])
        placed.append((x, low))
        place = {"xytext": (5, 3 + (low - y) / point), "textcoords": "offset points", "fontsize": 8}
        axes.annotate(f"{line['row']}, {line['test']:.0f}", (line["year"], line["test"]), **place)


if __name__ == "__main__":
    app.run("timeline", main, timed=True)
