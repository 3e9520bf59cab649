"""Stage timeline: what came after the paper, a model a line in the order of the years, as table and picture; and how
much of the way from the first to the best each step went."""

import logging
import math
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes

from pipeline.data.constraints import check, one_of
from pipeline.data.errors import InputError
from pipeline.reporting import markup, readme, style, table
from pipeline.running import app

SPLITS = ("valid", "test")
KINDS = {"one": "one model", "several": "several models, averaged or mixed", "adapts": "learns from the text it reads"}

log = logging.getLogger(__name__)


@dataclass
class Point:
    """A model and where it comes from."""

    name: str  # no other has it
    year: int  # of the paper that it is from
    source: str  # its authors
    kind: str = one_of(*KINDS, default="one")  # one model, several, or one that adapts to the text it reads
    of: str = ""  # the row of one of `tables`; empty: its name
    row: str = ""  # its label; empty: the table's
    table: str = ""  # the file of `tables` whose row it is; empty: the first that has one

    def __post_init__(self):
        check(self, f"points: {self.name}: ")


@dataclass
class Step:
    """A part of the way: from the model of the step before, or the first point, to this one."""

    to: str  # the name of a point
    what: str  # the step, in words


@dataclass
class Config:
    """conf/timeline.yaml."""

    name: str
    points: list[Point]
    steps: list[Step]
    start: str  # the model at which the way begins
    yardstick: str  # the model over whose perplexity the ratios are
    tables: list[str]
    intervals: str
    readme: str
    out: str
    timing: str

    def __post_init__(self):
        names = [point.name for point in self.points]
        if len(set(names)) < len(names):
            raise InputError(f"points: a name stands twice in {', '.join(names)}")
        for key, name in (("start", self.start), *(("steps", step.to) for step in self.steps)):
            if name not in names:
                raise InputError(f"{key}: {name} is none of the points")


def main(config: Config) -> None:
    """Writes timeline.csv, .md and .svg, steps.csv and .md into config.out, and the table into the README."""
    built, out = lines(config), Path(config.out)
    walked = steps(built, config.start, config.steps)
    out.mkdir(parents=True, exist_ok=True)
    built.round(4).to_csv(out / "timeline.csv")
    walked.round(4).to_csv(out / "steps.csv", index=False)
    text = markup.markdown(figures(built))
    (out / "timeline.md").write_text(text, encoding="utf-8")
    (out / "steps.md").write_text(markup.markdown(steps_text(walked)), encoding="utf-8")
    (out / "timeline.svg").write_text(style.alone(draw(built)), encoding="utf-8")
    if config.readme:
        readme.put(Path(config.readme), "timeline", text)
    log.info("%d models in %s", len(built), out / "timeline.md")


def lines(config: Config) -> pd.DataFrame:
    """A line a point: year, source, kind, the table's figures, and ratios to the yardstick, with intervals where there
    are: of the raw figures, as in the table of intervals."""
    for file in (*config.tables, config.intervals):
        if not Path(file).is_file():
            raise InputError(f"no {file}: `make later` writes it, and what it takes from other tables is committed")
    tables = {file: table.read(Path(file)) for file in config.tables}
    sure = pd.read_csv(config.intervals, index_col="name")
    found = []
    for point in config.points:
        name = point.of or point.name
        files = [file for file in ([point.table] if point.table else tables) if name in tables[file].index]
        if not files:
            raise InputError(f"points: no table has the row {name}")
        row = tables[files[0]].loc[name]
        line = {"name": point.name, "row": point.row or row["row"], "year": point.year, "source": point.source}
        line |= {"kind": point.kind, "seeds": row["seeds"]}
        line |= {f"{split}{end}": row[f"{split}{end}"] for split in SPLITS for end in ("_raw", "_raw_sd", "", "_sd")}
        if files[0] == config.tables[0] and name in sure.index:
            for split, prefix in zip(SPLITS, ("valid_", ""), strict=True):
                for end in ("", "_low", "_high"):
                    line[f"{split}_ratio{end}"] = sure.loc[name, f"{prefix}to_{config.yardstick}{end}"]
        found.append(line)
    built = pd.DataFrame(found).set_index("name")
    yardstick = tables[config.tables[0]].loc[config.yardstick]
    for split in SPLITS:
        built[f"{split}_ratio"] = built[f"{split}_raw"] / yardstick[f"{split}_raw"]
    return built.sort_values(["year", "test"], ascending=[True, False], kind="stable")


def steps(built: pd.DataFrame, start: str, walk: list[Step]) -> pd.DataFrame:
    """The perplexity (with share) at the end of each step, and its share of the way in the logarithm of perplexity."""
    found, before = [], start
    for step in walk:
        line = {"what": step.what, "from": built.loc[before, "row"], "to": built.loc[step.to, "row"]}
        for split in SPLITS:
            whole = math.log(built.loc[start, split] / built.loc[walk[-1].to, split])
            line[split] = built.loc[step.to, split]
            line[f"{split}_share"] = math.log(built.loc[before, split] / built.loc[step.to, split]) / whole
        found.append(line)
        before = step.to
    return pd.DataFrame(found)


def figures(built: pd.DataFrame) -> pd.DataFrame:
    """The table as people read it."""
    read = pd.DataFrame({"model": built["row"], "year": built["year"].astype(str), "from": built["source"]})
    read["seeds"] = markup.text(built["seeds"], "{:d}")
    for split in SPLITS:
        read[f"{split}, with share"] = markup.spread(built, split)
    for split in SPLITS:
        read[f"{split}, raw"] = markup.text(built[f"{split}_raw"], "{:.1f}")
    ratio = markup.text(built["test_ratio"], "{:.3f}")
    low, high = (markup.text(built[f"test_ratio_{end}"], "{:.3f}") for end in ("low", "high"))
    read["test, raw, over Kneser-Ney 5 (95 %)"] = ratio + (" (" + low + " to " + high + ")").where(low != "", "")
    return read


def steps_text(walked: pd.DataFrame) -> pd.DataFrame:
    """The steps as people read them."""
    read = walked[["what", "from", "to"]].copy()
    for split in SPLITS:
        read[f"{split}, with share"] = markup.text(walked[split], "{:.1f}")
        read[f"{split}, share of the way"] = markup.text(walked[f"{split}_share"], "{:.0%}")
    return read


def draw(built: pd.DataFrame) -> str:
    """Test perplexity, with share, by year; a line through the best of what there was; an SVG."""
    with style.figure(8, 4.8) as figure:
        axes = figure.add_subplot()
        marks = dict(zip(KINDS, ("o", "s", "^"), strict=True))
        for (kind, said), colour in zip(KINDS.items(), style.COLOURS, strict=False):
            part = built[built["kind"] == kind]
            axes.plot(part["year"], part["test"], marks[kind], color=colour, label=said)
        best = built.groupby("year")["test"].min().cummin()
        axes.step(best.index, best, where="post", linewidth=1, color=style.INK, alpha=0.4, label="the best so far")
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
    app.run("timeline", Config, main, timed=True)
