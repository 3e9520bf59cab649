"""Stage page: the whole report as one HTML file that needs nothing but itself."""

import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from pipeline.data.errors import InputError
from pipeline.data.files import replacing
from pipeline.reporting import cells, figures, style, views
from pipeline.reporting.cells import Cell, Column
from pipeline.reporting.registry import read_registry
from pipeline.running import app
from pipeline.webpage import rows
from pipeline.webpage.sheets import TRIGRAM, WHOLE, YARDSTICK, Sheet, Sheets

LONG = 8  # rows of a table from which on it is folded
WORDS = {"valid": "validation", "train": "training"}  # for readers who don't see the files
PROSE = ("replication", "table", "beyond", "table2", "later")  # sections that the template has a text for

log = logging.getLogger(__name__)


@dataclass
class Config:
    """conf/page.yaml."""

    best_ngram: str
    genres: list[str]
    imaginative: list[str]
    grids: dict[str, str]
    tables: str
    reports: str
    out: str
    timing: str


def main(config: Config) -> None:
    """Writes index.html and ratios.svg into config.out, from the tables and figures in config.reports.

    What other targets than `make repro` leave there is shown where it is there. Links to CSV files, README and log are
    relative: they lead somewhere from config.reports, where the page belongs.
    """
    reports, out = Path(config.reports), Path(config.out)
    for file in ("table1.csv", "table1.svg", "intervals.csv", "genres.csv"):
        if not (reports / file).is_file():
            raise InputError(f"no {reports / file}: run `dvc repro`, which makes it")
    sheets = Sheets(reports, read_registry(Path(config.tables)))
    table1, genres = sheets.rows["table1"], sheets.read("genres.csv")
    _check_names(config, table1, genres)
    labels = table1["row"] + ", " + table1["shape"]
    drawn = _figures(config, sheets, genres, labels)
    others = [YARDSTICK, config.best_ngram]
    best = table1.loc[table1[table1["model"] == "network"]["valid_raw"].idxmin()]
    stream = sheets.read("table2/stream.csv")
    replicated = sheets.there("replication.csv") and "faithful" in sheets.rows
    environment = _environment(sheets, drawn)
    page = environment.get_template("page.html.j2").render(
        sheets=sheets,
        tables=sheets.tables,
        section=lambda name: sheets.of_section(name, others),
        others=[name for name in sheets.rows if sheets.tables[name].section not in PROSE],
        leading=sheets.leading() if replicated else None,
        replication=sheets.replication() if replicated else None,
        reached=sheets.reached(others),
        verdicts=sheets.verdicts(),
        claims={name: sheets.claims(name) for name in sheets.tables},
        stream=sheets.sheet("The text of the corpus", "stream.csv", _stream()),
        splits=splits(genres, config.imaginative, best.name),
        best=best.to_dict(),
        genres=sheets.sheet("Raw perplexity in each genre", "genres.csv", _genres(config.genres, labels)),
        out_of_vocabulary=sheets.out_of_vocabulary(),
        removed=dict(zip(stream["what"], stream["ours"], strict=True)) if len(stream) else {},
        paper_tokens=dict(zip(stream["what"], stream["paper"], strict=True)) if len(stream) else {},
        sentences=sheets.sheet("Ten repeated sentences by which most words went", "table2/removed.csv", REMOVED),
        timeline=sheets.timeline() if sheets.there("timeline/timeline.csv") else None,
        steps=sheets.sheet("How much of the way each step went, in the logarithm of perplexity", "timeline/steps.csv", views.STEPS),
        neighbours=sheets.sheet("Nearest neighbours of some words, with their cosines", "beyond/neighbours.csv", NEIGHBOURS),
        classes=sheets.sheet("Some of the classes of the class-based n-grams", "classes.csv", CLASSES),
        minutes=sheets.minutes(),
        costs=sheets.costs(),
        benchmark=benchmark(sheets),
    )
    out.mkdir(parents=True, exist_ok=True)
    with replacing(out / "index.html") as temporary:
        temporary.write_text(page, encoding="utf-8")
    (out / "ratios.svg").write_text(style.alone(drawn["ratios"]), encoding="utf-8")
    log.info("%s", (out / "index.html").resolve())


REMOVED = [
    *(Column("begins", "it begins", "{}"), Column("words", "words", WHOLE), Column("times", "times removed", WHOLE)),
    *(Column("texts", "from releases", WHOLE), Column("most of", "most by", "{}"), Column("share", "share of them", "{:.0%}")),
]
NEIGHBOURS = [Column("word", "word", "{}"), Column("nearest", "nearest", "{}")]
CLASSES = [Column("class", "class", "{}"), Column("tokens", "tokens", WHOLE), Column("words", "its most frequent words", "{}")]


def _stream() -> list[Column]:
    return [Column("what", "of what", "{}"), Column("ours", "ours", WHOLE), Column("paper", "the paper", WHOLE)]


def _genres(models: list[str], labels: pd.Series) -> list[Column]:
    counts = [Column("texts", "texts", WHOLE), Column("tokens", "tokens", WHOLE)]
    named = [Column("genre", "genre", "{}"), Column("split", "part", "{}")]
    return named + counts + [Column(name, labels[name]) for name in models]


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


def _figures(config: Config, sheets: Sheets, genres: pd.DataFrame, labels: pd.Series) -> dict[str, str]:
    """The SVGs that the page draws itself, by name."""
    table1 = sheets.rows["table1"]
    # The networks and mixtures of Table 1, row by row by each training, then two n-grams.
    trained = [sheets.rows[name].assign(label=lambda rows, short=sheets.tables[name].short: rows["row"] + "  " + short)
               for name in ("faithful", "table1") if name in sheets.rows]
    both = pd.concat(trained).query("model == 'network' and paper_test.notna()")
    drawn = table1[table1["paper_test"].notna()].assign(label=labels.str.replace(", ", "  ", n=1))
    beside = pd.concat([both.loc[both.index.unique()], drawn.loc[[TRIGRAM, config.best_ngram]]])
    compared = {name: labels[name] for name in config.genres}
    found = {
        "beside": figures.ratios(beside, YARDSTICK),
        "ratios": figures.ratios(drawn, YARDSTICK),
        "genres": figures.genres(genres[genres["split"] == "test"].set_index("genre"), compared),
    }
    axes = {"model.n": "order n", "model.h": "hidden units h"}
    grids = {title: sheets.read(file).rename(columns=axes) for title, file in config.grids.items() if sheets.there(file)}
    return found | ({"grid": figures.maps(grids, *axes.values())} if grids else {})


def splits(genres: pd.DataFrame, imaginative: list[str], model: str) -> dict[str, dict]:
    """Of each split its genres, the share of its tokens that is imaginative prose, and a model's perplexity on that and
    on the rest, None where there is none of it."""

    def perplexity(lines: pd.DataFrame) -> float | None:
        return np.exp(np.average(np.log(lines[model]), weights=lines["tokens"])) if len(lines) else None

    parts = {}
    for split, lines in genres.groupby("split", sort=False):
        stories = lines["genre"].isin(imaginative)
        parts[split] = {"genres": lines["genre"].tolist(), "stories": perplexity(lines[stories])}
        parts[split] |= {"share": lines["tokens"][stories].sum() / lines["tokens"].sum(), "rest": perplexity(lines[~stories])}
    return parts


def benchmark(sheets: Sheets) -> list[dict]:
    """Each part of the benchmark: its title, its text as HTML, and its table."""
    parts = []
    for part in sheets.read("benchmark/parts.csv").to_dict("records"):
        file = f"benchmark/{part['part']}.csv"
        view = sheets.read(file).map(lambda value: Cell(rows.renamed(cells.plain(value), sheets.called)))
        text = Markup(MarkdownIt().render(rows.renamed(part["text"], sheets.called)))
        parts.append({"title": part["title"], "text": text, "sheet": Sheet(part["title"], view, [file])})
    return parts


def _environment(sheets: Sheets, drawn: dict[str, str]) -> Environment:
    """What the templates of pipeline/webpage have beside their values."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "webpage"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

    def svg(name: str, file: str) -> Markup | None:
        text = drawn.get(name) or ((sheets.reports / file).read_text(encoding="utf-8") if sheets.there(file) else "")
        return Markup(style.inline(text, name)) if text else None

    csv = [file.relative_to(sheets.reports).as_posix() for file in sorted(sheets.reports.rglob("*.csv"))]
    environment.globals |= {"LONG": LONG, "files": csv}
    environment.filters |= {
        "there": lambda files: [file for file in files if sheets.there(file)],
        "drawn": svg,
        "wordy": lambda column: any(cell.text[:1].isalpha() or len(cell.text) > 20 for cell in column),
        "head": lambda head: " ".join(WORDS.get(word.rstrip(","), word.rstrip(",")) + "," * word.endswith(",") for word in head.split(" ")),
    }
    return environment


if __name__ == "__main__":
    app.run("page", Config, main, timed=True)
