"""Stage page: the whole report as one HTML file that needs nothing but itself."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from pipeline import app, store
from pipeline.core.errors import InputError
from pipeline.reporting import figures, style, table

log = logging.getLogger(__name__)


@dataclass
class Config:
    """conf/page.yaml."""

    yardstick: str
    best_ngram: str
    genres: list[str]
    grids: dict[str, str]
    reports: str
    timings: str
    out: str


def main(config: Config) -> None:
    """Writes index.html and ratios.svg into config.out, from the tables and figures in config.reports.

    Those of `make paper`, `make faithful`, `make table2` and the grids are shown where they are there.
    """
    reports, out = Path(config.reports), Path(config.out)
    for file in ("table1.csv", "table1.svg", "intervals.csv", "genres.csv"):
        if not (reports / file).is_file():
            raise InputError(f"no {reports / file}: run `dvc repro`, which makes it")
    intervals = pd.read_csv(reports / "intervals.csv", index_col="name").drop(columns="seeds")
    rows = table.read(reports / "table1.csv").join(intervals)
    for split in ("valid", "test"):
        paper = rows[f"paper_{split}"].astype(float)
        rows[f"ratio_{split}"] = rows[split] / rows.loc[config.yardstick, split]
        rows[f"paper_ratio_{split}"] = paper / paper[config.yardstick]
    rows["shape"] = [_shape(row) for row in rows.to_dict("records")]
    genres = pd.read_csv(reports / "genres.csv", index_col="genre")
    compared = {name: f"{rows.loc[name, 'row']}, {rows.loc[name, 'shape']}" for name in config.genres}
    networks = rows[rows["model"] == "network"]
    spent = costs(Path(config.timings))
    drawn = dict(_figures(config, reports, rows, genres, compared))
    template = _environment().get_template("page.html.j2")
    page = template.render(
        rows=_lines(rows),
        best=networks.loc[networks["valid"].idxmin()].to_dict(),
        ngram=rows.loc[config.best_ngram].to_dict(),
        config=config,
        networks=_lines(networks),
        genres=_lines(genres),
        compared=compared,
        extra=_records(reports / "extra.csv"),
        rest=_records(reports / "rest.csv"),
        claims=[line for file in sorted(reports.glob("claims*.csv")) for line in _records(file)],
        classes=_records(reports / "classes.csv"),
        neighbours=_records(reports / "neighbours.csv"),
        table2=_table2(reports / "table2"),
        table2_costs=[line for line in spent if line["item"].startswith("table2-")],
        table2_claims=_records(reports / "table2" / "claims.csv"),
        costs=spent,
        figures={name: Markup(style.inline(svg, name)) for name, svg in drawn.items()},
    )
    out.mkdir(parents=True, exist_ok=True)
    with store.replacing(out / "index.html") as temporary:
        temporary.write_text(page, encoding="utf-8")
    (out / "ratios.svg").write_text(style.alone(drawn["ratios"]), encoding="utf-8")
    log.info("%s", (out / "index.html").resolve())


def _figures(
    config: Config, reports: Path, rows: pd.DataFrame, genres: pd.DataFrame, compared: dict[str, str]
) -> Iterator[tuple[str, str]]:
    """Name and SVG of each figure whose data is there."""
    yield (
        "ratios",
        figures.ratios(
            rows.assign(paper=rows["paper_ratio_test"], label=rows["row"] + "  " + rows["shape"]), config.yardstick
        ),
    )
    yield "genres", figures.genres(genres, compared)
    grids = {title: reports / file for title, file in config.grids.items() if (reports / file).is_file()}
    if grids:
        yield "grid", figures.maps({title: pd.read_csv(file) for title, file in grids.items()}, "model.n", "model.h")
    files = {"curves": "table1.svg", "faithful": "faithful.svg", "plane": "plane.svg", "table2": "table2/table2.svg"}
    for name, file in files.items():
        if (reports / file).is_file():
            yield name, (reports / file).read_text(encoding="utf-8")


def _table2(reports: Path) -> list[dict]:
    """The lines of Table 2 and of what stands below it, with their intervals; none where it has not been made."""
    if not all((reports / name).is_file() for name in ("table2.csv", "intervals.csv")):
        return []
    parts = [reports / name for name in ("table2.csv", "extra.csv")]
    rows = pd.concat([table.read(part) for part in parts if part.is_file()])
    rows = rows.join(pd.read_csv(reports / "intervals.csv", index_col="name").drop(columns="seeds"))
    for other in ("kn5", "interpolated3"):  # the two ratios that compare with the paper's
        paper = rows["paper_test"].astype(float)
        rows[f"paper_to_{other}"] = paper / paper[other]
    rows["shape"] = [_shape(row) for row in rows.to_dict("records")]
    return _lines(rows)


def _shape(row: dict) -> str:
    """A row's order, classes and sizes in words."""
    said = [f"{key} {row[key]}" for key in ("n", "c", "h", "m") if pd.notna(row[key])]
    said += [word for key, word in (("direct", "direct"), ("mix", "mixed")) if row[key] is True]
    return ", ".join(said)


def _records(file: Path) -> list[dict]:
    """The lines of a CSV file, of none where there is none."""
    return _lines(pd.read_csv(file)) if file.is_file() else []


def _lines(frame: pd.DataFrame) -> list[dict]:
    """A frame's lines with its index among their values; what is missing is None."""
    frame = frame.reset_index(names=frame.index.name or "place").astype(object)
    return frame.where(frame.notna(), None).to_dict("records")


def costs(timings: Path) -> list[dict]:
    """What each item of the pipeline took on the machine where it ran last, the longest first."""
    found = []
    for file in sorted(timings.glob("*.json")):
        measured = store.read_json(file)
        found.append({"item": file.stem} | {key: measured.get(key) for key in ("seconds", "words_per_second")})
        found[-1] |= {"memory": measured.get("peak_memory_mb"), "cores": measured.get("cores")}
    return sorted(found, key=lambda line: -line["seconds"])


def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent / "reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


if __name__ == "__main__":
    app.run("page", Config, main)
