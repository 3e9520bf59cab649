"""Stage report: a comparison table and the learning curves, from the arrays of all models."""

import logging
import re
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from pipeline.data.corpus import read_corpus
from pipeline.data.errors import InputError
from pipeline.data.files import replacing, write_json
from pipeline.reporting import curves, markup, style, table, word_classes
from pipeline.reporting.table import Table
from pipeline.running import app

OPTIMISTIC = (
    "Validation figures are optimistic: recipe, stopping, mixture weights and the share for unseen words were chosen "
    "there."
)
OTHER_CORPUS = (
    "The paper's figures are of another corpus than ours: perplexities of the two can't be compared, ratios of models "
    "on the same tokens can."
)
log = logging.getLogger(__name__)


@dataclass
class Config:
    """conf/report.yaml."""

    name: str
    table: Table
    data: str
    clusters: str
    intervals: str
    readme: str
    out: str
    timing: str


def main(config: Config) -> None:
    """Writes <name>.csv, .md, .tex and .svg, <name>-ratios.csv, extra.csv, classes.csv and .md into config.out, and
    the table into the README."""
    corpus, out = read_corpus(config.data), Path(config.out)
    everything = table.build(config.table, corpus)
    printed = pd.Series([config.table.printed(name) for name in everything.index], everything.index)
    built = everything[printed] if printed.any() else everything
    extra = everything.drop(built.index)
    out.mkdir(parents=True, exist_ok=True)
    name, same = config.name, config.table.same_corpus
    built.round(4).to_csv(out / f"{name}.csv")
    figures = markup.figures(built, same)
    markdown, latex = markup.markdown(figures), markup.latex(figures)
    for note in filter(None, (config.table.note, OTHER_CORPUS if printed.any() and not same else "")):
        markdown, latex = f"{note}\n\n{markdown}", f"% {note}\n{latex}"
    if not extra.empty:
        extra.round(4).to_csv(out / "extra.csv")
        markdown += f"\nNot in the paper's table:\n\n{markup.markdown(markup.figures(extra, same))}"
    ratios = table.ratios(everything, config.table.yardsticks, _intervals(config.intervals))
    if not ratios.empty:
        ratios.to_csv(out / f"{name}-ratios.csv", float_format="%.4f")
        for yardstick, part in ratios.groupby("over", sort=False):
            row = everything.loc[yardstick]
            label = ", ".join([row["row"]] + [f"{key} = {row[key]}" for key in ("n", "c") if pd.notna(row[key])])
            markdown += (
                f"\nPerplexity over that of {label}, on the same tokens; `seen`: those whose word training shows:\n\n"
                f"{markup.markdown(markup.ratios(part))}"
            )
            latex += f"\n% perplexity over that of {label}\n{markup.latex(markup.ratios(part))}"
    (out / f"{name}.md").write_text(f"{markdown}\n{OPTIMISTIC}\n", encoding="utf-8")
    (out / f"{name}.tex").write_text(latex, encoding="utf-8")
    (out / f"{name}.svg").write_text(style.alone(curves.draw(everything, config.table)), encoding="utf-8")
    if config.clusters:
        classes = word_classes.shown(_there("clusters", config.clusters, "cluster"))
        classes.to_csv(out / "classes.csv", index=False)
        (out / "classes.md").write_text(word_classes.markdown(classes), encoding="utf-8")
    if config.readme:
        short = markup.short(built, next(iter(config.table.yardsticks), ""))
        _rewrite(Path(config.readme), name, markup.markdown(short))
    write_json(out / "metrics.json", everything[["valid", "test"]].round(4).to_dict("index"))
    log.info("%d rows in %s", len(everything), (out / f"{name}.md").resolve())


def _intervals(file: str) -> pd.DataFrame | None:
    return pd.read_csv(_there("intervals", file, "intervals"), index_col="name") if file else None


def _there(key: str, file: str, stage: str) -> Path:
    """The file that a key names. Raises InputError where it is not there."""
    if not Path(file).is_file():
        raise InputError(f"{key}={file}: no such file; `python -m pipeline.{stage}` writes it, and {key}= does without")
    return Path(file)


def _rewrite(readme: Path, name: str, markdown: str) -> None:
    """Puts the table between its marks in a file that exists."""
    text = readme.read_text(encoding="utf-8")
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    new, found = re.subn(
        f"(?<={re.escape(begin)}\n).*?(?={re.escape(end)})", lambda _: f"\n{markdown}\n", text, flags=re.DOTALL
    )
    if not found:
        raise InputError(f"{readme}: the marks {begin} and {end} are not there, each on a line of its own")
    with replacing(readme) as temporary:
        temporary.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    app.run("report", Config, main, timed=True)
