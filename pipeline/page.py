"""Stage page: the whole report as one HTML file that needs nothing but itself."""

import logging
import re
from pathlib import Path

import numpy as np
import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from pipeline.config.stages import Page
from pipeline.config.tables import read_tables
from pipeline.data.errors import InputError
from pipeline.data.files import replacing
from pipeline.reporting import cells, costs, figures, prose, style, views
from pipeline.reporting.cells import Cell, Column
from pipeline.running import app
from pipeline.webpage import rows
from pipeline.webpage.sheets import SPLIT_NAMES, TRIGRAM, WHOLE, YARDSTICK, Sheet, Sheets

LONG = 9  # rows of a table from which on it is folded
PROSE = ("replication", "table", "beyond", "table2", "later")  # sections that the template has a text for
REMOVED = {"begins": "it begins", "words": "words", "times": "times removed", "texts": "from releases"}
REMOVED = [
    *(Column(*each, WHOLE) for each in REMOVED.items()),
    Column("most of", "most by"),
    Column("share", "share of them", "{:.0%}"),
]

log = logging.getLogger(__name__)


def main(config: Page) -> None:
    """Writes index.html and ratios.svg into config.out, from the tables and figures in config.reports, and these tables
    into the pages of config.prose.

    What other targets than `make repro` leave there is shown where it is there. Links to CSV files, README and log are
    relative: they lead somewhere from config.reports, where the page belongs.
    """
    reports, out = Path(config.reports), Path(config.out)
    for file in ("table1.csv", "table1.svg", "intervals.csv", "genres.csv"):
        if not (reports / file).is_file():
            raise InputError(f"no {reports / file}: run `dvc repro`, which makes it")
    sheets = Sheets(reports, read_tables(Path(config.tables)))
    table1, genres = sheets.rows["table1"], pd.read_csv(reports / "genres.csv")
    _check_names(config, table1, genres)
    labels = table1["row"] + ", " + table1["shape"]
    by_genre = [
        Column("genre", "genre"),
        Column("split", "part"),
        Column("texts", "texts", WHOLE),
        Column("tokens", "tokens", WHOLE),
    ]
    drawn = _figures(config, sheets, genres, labels)
    best = table1.loc[table1[table1["model"] == "network"]["valid_raw"].idxmin()]
    beside = sheets.there("replication.csv") and "faithful" in sheets.rows
    spent = costs.read(reports / "costs.csv").groupby("table")["seconds"].sum() / 60
    page = (
        _environment(sheets, drawn)
        .get_template("page.html.j2")
        .render(
            sheets=sheets,
            tables=sheets.tables,
            others=dict.fromkeys(
                sheets.tables[name].section or name for name in sheets.rows if sheets.tables[name].section not in PROSE
            ),
            verdict_in_words=prose.between(Path(config.verdict), "verdict"),
            trainings=sheets.trainings(),
            summary=sheets.summary(),
            replication=sheets.replication() if beside else None,
            reached=sheets.reached(YARDSTICK),
            claims={name: sheets.claims(name) for name in sheets.tables},
            stream=sheets.sheet(
                "The text of the corpus", "stream.csv", {"what": "of what", "ours": "ours", "paper": "the paper"}
            ),
            splits=splits(genres, config.imaginative, best.name),
            best=best.to_dict(),
            genres=sheets.sheet(
                "Raw perplexity in each genre",
                "genres.csv",
                by_genre + [Column(name, labels[name]) for name in config.genres],
            ),
            table2={line["what"]: line for line in sheets.read("table2/stream.csv").to_dict("records")},
            removed=sheets.sheet("Ten repeated sentences by which most words went", "table2/removed.csv", REMOVED),
            steps=sheets.sheet(
                "How much of the way each step went, in the logarithm of perplexity", "timeline/steps.csv", views.STEPS
            ),
            minutes=spent.to_dict(),
            benchmark=benchmark(sheets),
        )
    )
    out.mkdir(parents=True, exist_ok=True)
    with replacing(out / "index.html") as temporary:
        temporary.write_text(page, encoding="utf-8")
    (out / "ratios.svg").write_text(style.alone(drawn["ratios"]), encoding="utf-8")
    for file in config.prose:
        prose.put_tables(Path(file), reports)
    log.info("%s", (out / "index.html").resolve())


def _check_names(config: Page, table1: pd.DataFrame, genres: pd.DataFrame) -> None:
    """Raises InputError for a model that the tables don't have."""
    against = [name for name in table1.index if f"to_{name}" in table1]
    by_genre = [name for name in table1.index if name in genres]
    given = [
        (f"conf/table/table1.yaml: yardsticks={against}", YARDSTICK, against),
        ("best_ngram", config.best_ngram, against),
    ]
    for key, name, choices in [*given, *(("genres", name, by_genre) for name in config.genres)]:
        if name not in choices:
            raise InputError(f"{key}={name}: choose from {', '.join(choices)}")


def _figures(config: Page, sheets: Sheets, genres: pd.DataFrame, labels: pd.Series) -> dict[str, str]:
    """The SVGs that the page draws itself, by name."""
    drawn = sheets.rows["table1"].query("paper_test.notna()").assign(label=labels.str.replace(", ", "  ", n=1))
    # The networks and mixtures of Table 1, row by row by each training, then two n-grams.
    trained = []
    for name in sheets.trainings():
        networks = sheets.rows[name].query("model == 'network' and paper_test.notna()")
        trained.append(networks.assign(label=networks["row"] + "  " + sheets.tables[name].short))
    both = pd.concat(trained)
    beside = pd.concat([both.loc[both.index.unique()], drawn.loc[[TRIGRAM, config.best_ngram]]])
    compared = {name: labels[name] for name in config.genres}
    axes = {"model.n": "order n", "model.h": "hidden units h"}
    grids = {
        title: sheets.read(file).rename(columns=axes) for title, file in config.grids.items() if sheets.there(file)
    }
    return {
        "beside": figures.ratios(beside, YARDSTICK),
        "ratios": figures.ratios(drawn, YARDSTICK),
        "genres": figures.genres(genres[genres["split"] == "test"].set_index("genre"), compared),
    } | ({"grid": figures.maps(grids, *axes.values())} if grids else {})


def splits(genres: pd.DataFrame, imaginative: list[str], model: str) -> dict[str, dict]:
    """Of each split its genres, the share of its tokens that is imaginative prose, and a model's perplexity on that and
    on the rest, None where there is none of it."""

    def perplexity(lines: pd.DataFrame) -> float | None:
        return np.exp(np.average(np.log(lines[model]), weights=lines["tokens"])) if len(lines) else None

    parts = {}
    for split, lines in genres.groupby("split", sort=False):
        stories, rest = (lines[lines["genre"].isin(imaginative) == kept] for kept in (True, False))
        parts[split] = {"genres": lines["genre"].tolist(), "stories": perplexity(stories), "rest": perplexity(rest)}
        parts[split]["share"] = stories["tokens"].sum() / lines["tokens"].sum()
    return parts


def benchmark(sheets: Sheets) -> list[dict]:
    """Each part of the benchmark: its title, its text as HTML, and its table."""
    called = {name: label for name, label in sheets.called.items() if re.search(r"\d", name)}  # `linear` is a word, too
    parts = []
    for part in sheets.read("benchmark/parts.csv").to_dict("records"):
        file = f"benchmark/{part['part']}.csv"
        view = sheets.read(file).map(lambda value: Cell(rows.renamed(cells.plain(value), called)))
        text = Markup(MarkdownIt().render(rows.renamed(part["text"], called)))
        parts.append({"title": part["title"], "text": text, "sheet": Sheet(part["title"], view, [file])})
    return parts


def _environment(sheets: Sheets, drawn: dict[str, str]) -> Environment:
    """What the templates of pipeline/webpage have beside their values."""
    templates = FileSystemLoader(Path(__file__).parent / "webpage")
    environment = Environment(
        loader=templates, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
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
        "head": lambda head: re.sub(
            r"\b(valid|train)\b", lambda word: SPLIT_NAMES[word[0]], head.replace("with s", "with\u00a0s")
        ),
        "sections": lambda html: re.findall(r'<section id="([\w-]+)">\s*<h2>(.*?)</h2>', html),
    }
    return environment


if __name__ == "__main__":
    app.run("page", main, timed=True)
