"""Stage page: the whole report as one HTML file that needs nothing but itself."""

import itertools
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from pipeline.data.errors import InputError
from pipeline.data.files import replacing
from pipeline.reporting import costs, figures, style
from pipeline.running import app
from pipeline.webpage import claims, closeup, findings, rows, speed

YARDSTICK, TRIGRAM = findings.YARDSTICK, findings.TRIGRAM  # whose ratios compare with the paper's
LONG = 8  # rows of a table from which on it is folded

log = logging.getLogger(__name__)


@dataclass
class Config:
    """conf/page.yaml."""

    best_ngram: str
    genres: list[str]
    imaginative: list[str]
    grids: dict[str, str]
    reports: str
    out: str
    timing: str


def main(config: Config) -> None:
    """Writes index.html and ratios.svg into config.out, from the tables and figures in config.reports.

    Those of `make beyond`, `make faithful`, `make table2`, `make later`, `make bench` and the grids are shown where
    they are there. Links to CSV files, README and log are relative: they lead somewhere from config.reports, where the
    page belongs.
    """
    reports, out = Path(config.reports), Path(config.out)
    for file in ("table1.csv", "table1.svg", "intervals.csv", "genres.csv"):
        if not (reports / file).is_file():
            raise InputError(f"no {reports / file}: run `dvc repro`, which makes it")
    everything, genres = rows.read(reports, "table1", "extra"), pd.read_csv(reports / "genres.csv")
    table1 = everything[everything["table"] == "table1"]
    _check_names(config, table1, genres)
    compared = {name: f"{table1.loc[name, 'row']}, {table1.loc[name, 'shape']}" for name in config.genres}
    best = table1.loc[table1[table1["model"] == "network"]["valid_raw"].idxmin()]
    called = rows.labels(reports)
    spent = rows.spent(reports, called)
    of_table2 = spent["table"].str.startswith("table2")  # with repeats and without
    drawn = dict(_figures(config, reports, table1, genres, compared))
    inline = {name: style.inline(svg, name) for name, svg in drawn.items()}
    if "plane" in drawn:
        inline["closeup"] = closeup.closeup(style.inline(drawn["plane"], "closeup"))
    replicated = reports / "replication.csv"
    template = _environment(reports).get_template("page.html.j2")
    page = template.render(
        config=config,
        yardstick=YARDSTICK,
        trigram=TRIGRAM,
        titles=rows.TITLES,
        called=called,
        figures={name: Markup(svg) for name, svg in inline.items()},
        leading=findings.leading(pd.read_csv(replicated, index_col="name")) if replicated.is_file() else [],
        reached=findings.reached(reports, [YARDSTICK, config.best_ngram]),
        claims=[
            claims.read(reports / "claims" / name, title, called)
            for name, title in rows.TITLES.items()
            if (reports / "claims" / name / "claims.csv").is_file()  # where a table has exploratory pairs alone, none
        ],
        time_claims=speed.claims(reports / "benchmark"),
        replication=[line | {"shape": rows.shape(line)} for line in rows.records(replicated)],
        rows=rows.lines(table1),
        extra=rows.lines(everything[everything["table"] == "extra"]),
        stream=rows.records(reports / "stream.csv"),
        best=best.to_dict(),
        genres=rows.lines(genres),
        splits=splits(genres, config.imaginative, best.name),
        compared=compared,
        beyond=rows.lines(rows.read(reports / "beyond", "beyond", "extra")),
        out_of_vocabulary=rows.out_of_vocabulary(reports, called),
        table2=rows.lines(rows.read(reports / "table2", "table2", "extra")),
        table2_repeats=rows.lines(rows.read(reports / "table2-repeats", "table2-repeats", "extra")),
        table2_stream={line["what"]: line for line in rows.records(reports / "table2" / "stream.csv")},
        table2_removed=rows.records(reports / "table2" / "removed.csv"),
        table2_costs=rows.lines(spent[spent["table"] == "table2"]),
        timeline=rows.records(reports / "timeline" / "timeline.csv"),
        steps=rows.records(reports / "timeline" / "steps.csv"),
        pairs_later=claims.exploratory(reports / "claims" / "later", called),
        neighbours=rows.records(reports / "beyond" / "neighbours.csv"),
        classes=rows.records(reports / "classes.csv"),
        costs=rows.lines(spent[~of_table2]),
        stages=rows.lines(costs.by_stage(spent[~of_table2].assign(item=spent["of"].fillna(spent["item"])))),
        benchmark=speed.report(reports, called),
    )
    out.mkdir(parents=True, exist_ok=True)
    with replacing(out / "index.html") as temporary:
        temporary.write_text(page, encoding="utf-8")
    (out / "ratios.svg").write_text(style.alone(drawn["ratios"]), encoding="utf-8")
    log.info("%s", (out / "index.html").resolve())


def _check_names(config: Config, table1: pd.DataFrame, genres: pd.DataFrame) -> None:
    """Raises InputError for a model that the tables don't have."""
    against = [name for name in table1.index if f"to_{name}" in table1]
    by_genre = [name for name in table1.index if name in genres]
    if YARDSTICK not in against:
        raise InputError(f"intervals.csv has no ratios to {YARDSTICK}: make it one of `yardsticks` of the table")
    for key, names, choices in (
        ("best_ngram", [config.best_ngram], against),
        ("genres", config.genres, by_genre),
    ):
        for name in set(names) - set(choices):
            raise InputError(f"{key}={name}: choose from {', '.join(choices)}")


def _figures(
    config: Config, reports: Path, table1: pd.DataFrame, genres: pd.DataFrame, compared: dict[str, str]
) -> Iterator[tuple[str, str]]:
    """Name and SVG of each figure whose data is there."""
    trained = {"paper's procedure": rows.read(reports / "faithful", "faithful"), "today's recipe": table1}
    also = table1.loc[[TRIGRAM, config.best_ngram]]  # low enough in the picture for its legend
    yield "beside", figures.ratios(findings.beside(trained, also), YARDSTICK)
    yield "ratios", figures.ratios(table1.assign(label=table1["row"] + "  " + table1["shape"]), YARDSTICK)
    yield "genres", figures.genres(genres[genres["split"] == "test"].set_index("genre"), compared)
    grids = {title: reports / file for title, file in config.grids.items() if (reports / file).is_file()}
    if grids:
        axes = {"model.n": "order n", "model.h": "hidden units h"}
        tables = {title: pd.read_csv(file).rename(columns=axes) for title, file in grids.items()}
        yield "grid", figures.maps(tables, *axes.values())
    files = {
        "curves": "table1.svg",
        "faithful": "faithful/faithful.svg",
        "plane": "beyond/plane.svg",
        "table2": "table2/table2.svg",
        "timeline": "timeline/timeline.svg",
        "sizes": "benchmark/scaling.svg",
    }
    for name, file in files.items():
        if (reports / file).is_file():
            yield name, (reports / file).read_text(encoding="utf-8")


def splits(genres: pd.DataFrame, imaginative: list[str], model: str) -> dict[str, dict]:
    """Of each split its genres, the share of its tokens that is imaginative prose, and a model's perplexity on that and
    on the rest, None where there is none of it."""

    def perplexity(lines: pd.DataFrame) -> float | None:
        return np.exp(np.average(np.log(lines[model]), weights=lines["tokens"])) if len(lines) else None

    found = {}
    for split, lines in genres.groupby("split", sort=False):
        told = lines["genre"].isin(imaginative)
        found[split] = {"genres": lines["genre"].tolist(), "stories": perplexity(lines[told])}
        found[split] |= {"share": lines["tokens"][told].sum() / lines["tokens"].sum(), "rest": perplexity(lines[~told])}
    return found


def _environment(reports: Path) -> Environment:
    """What the templates of pipeline/webpage have beside their values."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "webpage"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"LONG": LONG}
    environment.filters["there"] = lambda files: [file for file in files if (reports / file).is_file()]
    environment.filters["compress"] = itertools.compress
    environment.filters["linked_csv"] = lambda html: list(dict.fromkeys(re.findall(r'href="([^"]+\.csv)"', html)))
    return environment


if __name__ == "__main__":
    app.run("page", Config, main, timed=True)
