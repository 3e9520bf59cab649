"""Stage page: the whole report as one HTML file that needs no other file."""

import logging
import re
from pathlib import Path

import numpy as np
import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from pipeline.config.page import Page
from pipeline.config.tables import read_tables
from pipeline.core.common.errors import InputError
from pipeline.data.files import replacing
from pipeline.reporting import costs, figures, prose, style
from pipeline.reporting.table import BASELINE, TRIGRAM
from pipeline.reporting.views import VIEWS, laid_out
from pipeline.running import app
from pipeline.webpage.tables import SPLIT_NAMES, PageTables

LONG = 9  # rows; a table of this length or longer is folded
# A note above the tables that are still of the stream with case; the main stream is now in lower case.
OF_CASED = (
    "These figures are of the stream with case and numbers kept (|V| = 17,907), by the code of 2026-11-28 or earlier. "
    "They can't be compared with those of Table 1 above."
)
PROSE = ("replication", "table", "beyond", "table2", "later")  # sections with a text of their own in the template

log = logging.getLogger(__name__)


def main(config: Page) -> None:
    """Writes index.html and ratios.svg into config.out, from the tables and figures in config.reports. Puts these
    tables into the pages of config.prose too.

    Results of other targets than `make repro` are shown if they are there. Links to CSV files, README and log are
    relative to config.reports, where the page belongs.
    """
    reports = Path(config.reports)
    out = Path(config.out)
    for file in ("table1.csv", "table1.svg", "intervals.csv", "genres.csv"):
        if not (reports / file).is_file():
            raise InputError(f"no {reports / file}: run `dvc repro`, which makes it")
    tables = PageTables(reports, read_tables(Path(config.tables)))
    table1 = tables.rows["table1"]
    genres = pd.read_csv(reports / "genres.csv")
    for key, names, choices in (
        ("best_ngram", [config.best_ngram], table1.query("paper_test.notna()").index),
        ("genres", config.genres, [*genres.columns.intersection(table1.index)]),
    ):
        if unknown := [name for name in names if name not in choices]:
            raise InputError(f"{key}={unknown[0]}: choose from {', '.join(choices)}")
    labels = table1["row"] + ", " + table1["shape"]
    svgs = draw(config, tables, genres=genres, labels=labels)
    best = table1.loc[table1[table1["model"] == "network"]["valid_raw"].idxmin()]
    minutes = costs.read(reports / "costs.csv").groupby("table")["seconds"].sum() / 60
    environment = environment_of(tables, svgs)
    text = environment.get_template("page.md.j2").render(
        tables=tables,
        others=[name for name in tables.sections if name not in PROSE],
        words={name: prose.between(Path(page), name) for name, page in config.words.items()},
        splits=splits(genres, config.imaginative, best.name),
        best=best.to_dict(),
        genres=laid_out(tables.read("genres.csv"), VIEWS["genres"] | {labels[name]: name for name in config.genres}),
        table2={line["what"]: line for line in tables.read("table2/stream.csv").to_dict("records")},
        minutes=minutes.to_dict(),
    )
    page = environment.get_template("page.html.j2").render(sections=sections_of(text))
    out.mkdir(parents=True, exist_ok=True)
    with replacing(out / "index.html") as temporary:
        temporary.write_text(page, encoding="utf-8")
    (out / "ratios.svg").write_text(style.alone(svgs["ratios"]), encoding="utf-8")
    for file in config.prose:
        prose.put_tables(Path(file), reports)
    log.info("%s", (out / "index.html").resolve())


def draw(config: Page, tables: PageTables, genres: pd.DataFrame, labels: pd.Series) -> dict[str, str]:
    """The SVGs that this stage draws, by name; the others are files in config.reports."""
    rows = tables.rows["table1"].query("paper_test.notna()").assign(label=labels.str.replace(", ", "  ", n=1))
    # The networks and mixtures of Table 1: each row by all trainings, then the next row; then two n-grams.
    parts = []
    for name in tables.trainings:
        part = tables.rows[name].query("model == 'network' and paper_test.notna()")
        parts.append(part.assign(label=part["row"] + "  " + tables.settings[name].short))
    networks = pd.concat(parts)
    beside = pd.concat([networks.loc[networks.index.unique()], rows.loc[[TRIGRAM, config.best_ngram]]])
    models = {name: labels[name] for name in config.genres}
    axes = {"model.n": "order n", "model.h": "hidden units h"}
    grids = {title: tables.read(file).rename(columns=axes) for title, file in config.grids.items() if tables.has(file)}
    return {
        "beside": figures.ratios(beside, BASELINE),
        "ratios": figures.ratios(rows, BASELINE),
        "genres": figures.genres(genres[genres["split"] == "test"].set_index("genre"), models),
    } | ({"grid": figures.maps(grids, x=axes["model.n"], y=axes["model.h"])} if grids else {})


def splits(genres: pd.DataFrame, imaginative: list[str], model: str) -> dict[str, dict]:
    """For each split: its genres, the share of imaginative prose in its tokens, and a model's perplexity on imaginative
    prose (`stories`) and on the other genres (`rest`); None where a split has none of them."""

    def perplexity(lines: pd.DataFrame) -> float | None:
        return np.exp(np.average(np.log(lines[model]), weights=lines["tokens"])) if len(lines) else None

    parts = {}
    for split, lines in genres.groupby("split", sort=False):
        stories, others = (lines[lines["genre"].isin(imaginative) == value] for value in (True, False))
        parts[split] = {"genres": lines["genre"].tolist(), "stories": perplexity(stories), "rest": perplexity(others)}
        parts[split]["share"] = stories["tokens"].sum() / lines["tokens"].sum()
    return parts


def environment_of(tables: PageTables, svgs: dict[str, str]) -> Environment:
    """The environment of the templates in pipeline/webpage: their filters, and the names that all of them know."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "webpage"),
        autoescape=lambda name: name.endswith(".html.j2"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

    def svg(name: str, file: str) -> Markup:
        text = svgs.get(name) or ((tables.reports / file).read_text(encoding="utf-8") if tables.has(file) else "")
        return Markup(re.sub(r"\n\s*\n", "\n", style.inline(text, name)) if text else "")

    files = [file.relative_to(tables.reports).as_posix() for file in sorted(tables.reports.rglob("*.csv"))]
    environment.globals |= {"LONG": LONG, "FILES": files, "OF_CASED": OF_CASED}
    environment.filters |= {"drawn": svg, "wordy": wordy, "head": head_of, "styled": styled}
    return environment


def wordy(view: pd.DataFrame) -> list[str]:
    """The heads of the columns with words, not figures."""
    return [head for head in view if view[head].str.match(r"[^\W\d]|[^(]{20}").any()]


def styled(cell: str) -> Markup:
    """A cell as HTML: the part in brackets at its end in small type, without brackets if it is an interval; before it a
    verdict (yes, no or open) in its colour."""
    figure, brackets, verdict = re.fullmatch(r"(.*?)( \([^()]*\))?(?:, (yes|no|open))?", cell).groups("")
    coloured = f' <span class="{verdict}">{verdict}</span>' if verdict else ""
    small = escape(brackets.strip(" ()" if " to " in brackets else " "))
    return Markup(f"{escape(figure)}{coloured}" + (f" <small>{small}</small>" if small else ""))


def head_of(column: str) -> str:
    """A column's head in words: validation, not valid."""
    return re.sub(r"\b(valid|train)\b", lambda split: SPLIT_NAMES[split[0]], column)


def sections_of(text: str) -> list[tuple[str, str, Markup]]:
    """Id, title and HTML of each section of a Markdown text. A section begins with `## ID: TITLE`; one without a table,
    a figure or code is left out."""
    sections = re.findall(r"^## ([\w-]+): (.+?)\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    rendered = [(name, title, Markup(MarkdownIt().render(part))) for name, title, part in sections]
    return [section for section in rendered if re.search("<(table|figure|pre)", section[2])]


if __name__ == "__main__":
    app.run("page", main, timed=True)
