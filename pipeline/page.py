"""Stage page: the whole report as one HTML file that needs no other file."""

import logging
import re
from pathlib import Path

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from pipeline.config.page import Page
from pipeline.config.tables import read_tables
from pipeline.core.common.errors import InputError
from pipeline.data.files import replacing
from pipeline.reporting import figures, prose, style
from pipeline.reporting.table import BASELINE
from pipeline.reporting.views import VIEWS, laid_out
from pipeline.running import app
from pipeline.webpage.render import render
from pipeline.webpage.tables import PageTables

log = logging.getLogger(__name__)


def main(config: Page) -> None:
    """Writes index.html and ratios.svg into config.out, from the tables and figures in config.reports. Puts these
    tables into the pages of config.prose too.

    Results of other targets than `make repro` are shown if they are there. Links to CSV files, README and log are
    relative to config.reports, where the page belongs.
    """
    reports = Path(config.reports)
    out = Path(config.out)
    for file in ("table1.csv", "stream.csv", "intervals.csv", "genres.csv"):
        if not (reports / file).is_file():
            raise InputError(f"no {reports / file}: run `dvc repro`, which makes it")
    tables = PageTables(reports, read_tables(Path(config.tables)))
    genres = tables.read("genres.csv")
    choices = genres.columns.intersection(tables.rows["table1"].index)
    if unknown := [name for name in config.genres if name not in choices]:
        raise InputError(f"genres={unknown[0]}: choose from {', '.join(choices)}")
    labels = tables.rows["table1"].loc[config.genres, "row"].to_dict()
    svgs = draw(config, tables, genres=genres, labels=labels)
    environment = environment_of(tables, svgs)
    words = {name: prose.between(Path(file), name) for name, file in config.words.items()}
    words = {name: re.sub(r"\]\((?!http|#)", "](../", text) for name, text in words.items()}  # links from reports/
    view = laid_out(genres, VIEWS["genres"] | {label: name for name, label in labels.items()})
    text = environment.get_template("page.md.j2").render(words=words, genres=view)
    page = environment.get_template("page.html.j2").render(sections=sections_of(text))
    out.mkdir(parents=True, exist_ok=True)
    with replacing(out / "index.html") as temporary:
        temporary.write_text(page, encoding="utf-8")
    (out / "ratios.svg").write_text(style.alone(svgs["ratios"]), encoding="utf-8")
    for file in config.prose:
        prose.put_tables(Path(file), reports)
    log.info("%s", (out / "index.html").resolve())


def draw(config: Page, tables: PageTables, genres: pd.DataFrame, labels: dict[str, str]) -> dict[str, str]:
    """The SVGs that this stage draws, by name; the others are files in config.reports."""
    trainings = {label: tables.rows[name].query("paper_test.notna()") for label, name in tables.trainings.items()}
    axes = {"model.n": "order n", "model.h": "hidden units h"}
    grids = {title: tables.read(file).rename(columns=axes) for title, file in config.grids.items() if tables.has(file)}
    return {
        "ratios": figures.ratios(trainings, BASELINE),
        "genres": figures.genres(genres[genres["split"] == "test"].set_index("genre"), labels),
        "grid": figures.maps(grids, x=axes["model.n"], y=axes["model.h"]) if grids else "",
    }


def environment_of(tables: PageTables, svgs: dict[str, str]) -> Environment:
    """The environment of the templates in pipeline/webpage, with the names that all of them know."""

    def figure(name: str, caption: str, file: str = "") -> str:
        """An SVG, drawn for the page or a file of the reports; nothing where it is not there."""
        svg = svgs.get(name) or ((tables.reports / file).read_text(encoding="utf-8") if tables.has(file) else "")
        box = f'<div class="wide" role="region" tabindex="0" aria-labelledby="{name}-caption">'
        body = re.sub(r"\n\s*\n", "\n", style.inline(svg, name)) if svg else ""
        caption = f'<figcaption id="{name}-caption">{caption}</figcaption>'
        return f"\n\n<figure>{box}{body}</div>{caption}</figure>\n\n" if svg else ""

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "webpage"),
        autoescape=lambda name: name.endswith(".html.j2"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"tables": tables, "table": render, "figure": figure}
    return environment


def sections_of(text: str) -> list[tuple[str, str, Markup]]:
    """Id, title and HTML of each section of a Markdown text. A section begins with `## ID: TITLE`; one without a table,
    a figure or code is left out."""
    sections = re.findall(r"^## ([\w-]+): (.+?)\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    rendered = [(name, title, Markup(MarkdownIt().render(part))) for name, title, part in sections]
    return [section for section in rendered if re.search("<(table|figure|pre)", section[2])]


if __name__ == "__main__":
    app.run("page", main, timed=True)
