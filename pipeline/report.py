"""Stage report: a comparison table with intervals, ratios, genres and learning curves, from all models' arrays."""

import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.data.corpus import SPLITS, read_corpus
from pipeline.data.errors import InputError
from pipeline.data.files import read_json, write_json
from pipeline.reporting import curves, intervals, markup, style, table, word_classes
from pipeline.reporting.table import Table
from pipeline.running import app

READINGS = (
    "Figures without a name are raw: as the models give them, which is what the paper reads. `with share`: after the "
    "last step for words that training never shows, whose share is fitted on validation."
)
SEVERAL, ONE = "Networks: means over seeds, ± their standard deviation.", "Networks: one seed."
OPTIMISTIC = (
    "Validation figures are optimistic: recipe, stopping, mixture weights and the share for unseen words were chosen "
    "there."
)
OTHER_CORPUS = (
    "The paper's figures are of another corpus than ours: perplexities of the two can't be compared, ratios of models "
    "on the same tokens can."
)
REACHED = "; `reached`: both raw ratios are at or below the paper's"

log = logging.getLogger(__name__)


@dataclass
class Config:
    """conf/report.yaml."""

    name: str
    table: Table
    data: str
    clusters: str
    out: str
    timing: str

    def __post_init__(self):
        if not self.name or Path(self.name).name != self.name:
            raise InputError(f"name={self.name!r}: it becomes part of file names; give one without folders")


def main(config: Config) -> None:
    """Writes <name>.csv, .md, .tex and .svg, <name>-ratios.csv, extra.csv, intervals.csv, stream.csv, genres.csv where
    the corpus has genres, removed.csv where repeated sentences were left out of it, and classes.csv and .md where
    clusters are given, into config.out."""
    corpus, out = read_corpus(config.data), Path(config.out)
    classes = _classes(config.clusters)
    everything = table.build(config.table, corpus)
    printed = pd.Series([config.table.printed(name) for name in everything.index], everything.index)
    built = everything[printed] if printed.any() else everything
    extra = everything.drop(built.index)
    out.mkdir(parents=True, exist_ok=True)
    name, same = config.name, config.table.same_corpus
    built.round(4).to_csv(out / f"{name}.csv")
    compares = bool(printed.any())
    figures = _without_blanks(markup.figures(built, same), compares)
    markdown, latex = markup.markdown(figures), markup.latex(figures)
    notes = [f"Networks trained by {config.table.training}.", READINGS, SEVERAL if len(config.table.seeds) > 1 else ONE]
    notes.append(config.table.note)
    if compares and not same:
        notes.append(OTHER_CORPUS)
    markdown = "\n\n".join([*filter(None, notes), markdown])
    latex = "".join(f"% {note}\n" for note in filter(None, notes)) + latex
    if not extra.empty:
        extra.round(4).to_csv(out / "extra.csv")
        markdown += f"\nNot in the paper's table:\n\n{markup.markdown(markup.figures(extra, same))}"
    sure = intervals.build(config.table, corpus)
    sure.to_csv(out / "intervals.csv", float_format="%.5f")
    counts = read_json(Path(config.data) / "counts.json")
    stream(counts).to_csv(out / "stream.csv", index=False)
    if "removed" in counts:
        pd.DataFrame(counts["removed"]["sentences"]).to_csv(out / "removed.csv", index=False, float_format="%.2f")
    genres = intervals.genres(config.table, corpus)
    if not genres.empty:
        genres.to_csv(out / "genres.csv", float_format="%.4f")
    ratios = table.ratios(everything, config.table.yardsticks, sure)
    if not ratios.empty:
        ratios.to_csv(out / f"{name}-ratios.csv", float_format="%.4f")
        for yardstick, part in ratios.groupby("over", sort=False):
            row = everything.loc[yardstick]
            read = _without_blanks(markup.ratios(part), compares)
            label = ", ".join([row["row"]] + [f"{key} = {row[key]}" for key in ("n", "c") if pd.notna(row[key])])
            markdown += (
                f"\nPerplexity over that of {label}, on the same tokens; `seen`: those whose word training shows"
                f"{REACHED if compares else ''}:\n\n{markup.markdown(read)}"
            )
            latex += f"\n% perplexity over that of {label}\n{markup.latex(read)}"
    (out / f"{name}.md").write_text(f"{markdown}\n{OPTIMISTIC}\n", encoding="utf-8")
    (out / f"{name}.tex").write_text(latex, encoding="utf-8")
    (out / f"{name}.svg").write_text(style.alone(curves.draw(everything, config.table)), encoding="utf-8")
    if classes is not None:
        classes.to_csv(out / "classes.csv", index=False)
        (out / "classes.md").write_text(word_classes.markdown(classes), encoding="utf-8")
    write_json(out / "metrics.json", everything[["valid_raw", "test_raw"]].round(4).to_dict("index"))
    log.info("%d rows in %s", len(everything), (out / f"{name}.md").resolve())


def _without_blanks(read: pd.DataFrame, compares: bool) -> pd.DataFrame:
    """A table of text; where the paper prints none of its rows, without the columns that are then blank."""
    return read if compares else read.loc[:, (read != "").any()]


def _classes(path: str) -> pd.DataFrame | None:
    """What is shown of a file of word classes; None without a file."""
    if not path:
        return None
    if not Path(path).is_file():
        raise InputError(
            f"clusters={path}: no such file; `python -m pipeline.cluster` writes it, and clusters= does without"
        )
    try:
        return word_classes.shown(Path(path))
    except (KeyError, TypeError, ValueError) as error:  # pandas' own errors are ValueErrors
        raise InputError(f"clusters={path}: no file of word classes ({error}); cluster again") from error


def stream(counts: dict) -> pd.DataFrame:
    """How many tokens, types and words of vocabulary the corpus has, ours and the paper's, where both are known; and
    the share of tokens that was left out as repeated, of the whole stream and of the stretch of each split."""
    ours = counts | dict(zip(SPLITS, np.diff(counts["boundaries"]).tolist(), strict=True))
    lines = [{"what": key, "ours": ours[key], "paper": value} for key, value in counts["paper"].items()]
    shares = counts["removed"]["shares"] if "removed" in counts else {}
    lines += [{"what": f"share removed of {key}", "ours": round(value, 4)} for key, value in shares.items()]
    return pd.DataFrame(lines, columns=["what", "ours", "paper"])


if __name__ == "__main__":
    app.run("report", Config, main, timed=True)
