"""Stage report: the comparison table and the learning curves, from the arrays of all models."""

import logging
import re
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from pipeline import app, store
from pipeline.core.errors import InputError
from pipeline.reporting import curves, table, wordclasses
from pipeline.reporting.table import Row

log = logging.getLogger(__name__)

MARKS = ("<!-- table1 -->", "<!-- end of table1 -->")


@dataclass
class Table:
    """conf/table/<name>.yaml."""

    rows: list[Row]
    extra: list[Row]  # what the paper's table does not have


@dataclass
class Config:
    """conf/report.yaml."""

    table: Table
    data: str
    predictions: str
    clusters: str
    seeds: list[int]
    readme: str
    out: str


def main(config: Config) -> None:
    """Writes tables, curves, classes and metrics into config.out, and the table into the README."""
    corpus, predictions, out = store.read_corpus(config.data), Path(config.predictions), Path(config.out)
    rows = config.table.rows
    built = table.build(rows, predictions, corpus, config.seeds)
    extra = table.build(config.table.extra, predictions, corpus, config.seeds)
    if built.empty:
        raise InputError(f"{predictions}: no predictions of any row of the table; run `dvc repro`")
    out.mkdir(parents=True, exist_ok=True)
    built.to_csv(out / "table1.csv", index=False, float_format="%.4f")
    extra.to_csv(out / "extra.csv", index=False, float_format="%.4f")
    markdown = table.markdown(built)
    if not extra.empty:
        markdown += f"\nNot in the paper's table:\n\n{table.markdown(extra)}"
    (out / "table1.md").write_text(markdown, encoding="utf-8")
    (out / "table1.tex").write_text(table.latex(built), encoding="utf-8")
    curves.draw(rows, predictions, config.seeds, out / "curves.svg")
    if Path(config.clusters).is_file():
        (out / "classes.md").write_text(wordclasses.markdown(Path(config.clusters)), encoding="utf-8")
    everything = pd.concat([part[["valid", "test"]] for part in (built, extra)]).astype(float).round(4)
    store.write_json(out / "metrics.json", everything.to_dict("index"))
    if config.readme:
        _rewrite(Path(config.readme), markdown)
    log.info("%d of %d rows in %s", len(built), len(rows), (out / "table1.md").resolve())


def _rewrite(readme: Path, markdown: str) -> None:
    """Puts the table between its marks in a file that exists."""
    text = readme.read_text(encoding="utf-8")
    new, found = re.subn(
        f"(?<={re.escape(MARKS[0])}\n).*?(?={re.escape(MARKS[1])})", lambda _: f"\n{markdown}\n", text, flags=re.DOTALL
    )
    if not found:
        raise InputError(f"{readme}: the marks {MARKS[0]} and {MARKS[1]} are not there, each on a line of its own")
    with store.replacing(readme) as temporary:
        temporary.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    app.run("report", Config, main)
