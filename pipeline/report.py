"""Stage report: a comparison table with intervals, ratios, genres and learning curves, from all models' arrays."""

import logging
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.config.stages import Report
from pipeline.core.common.splits import SPLITS
from pipeline.data import class_file
from pipeline.data.corpus import read_corpus
from pipeline.data.errors import InputError
from pipeline.data.files import read_json, write_json
from pipeline.reporting import curves, intervals, style, table, views, word_classes
from pipeline.reporting.cells import laid_out, latex, markdown
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

log = logging.getLogger(__name__)


def main(config: Report) -> None:
    """Writes <name>.csv, .md, .tex and .svg, <name>-ratios.csv, extra.csv, intervals.csv, stream.csv, curves.csv where
    networks were trained, genres.csv where the corpus has genres, removed.csv where repeated sentences were left out of
    it, and classes.csv and .md where clusters are given, into config.out."""
    corpus, out, name = read_corpus(config.data), Path(config.out), config.name
    classes = _classes(config.clusters, corpus.vocabulary)
    rows = table.build(config.table, corpus)
    spread = intervals.build(config.table, corpus)
    counts = read_json(Path(config.data) / "counts.json")
    ratios = table.ratios(rows, config.table.yardsticks, spread)
    learning = curves.read(config.table)
    printed = rows.index.map(config.table.printed).to_numpy(dtype=bool)
    compares = bool(printed.any())
    shown, extra = (rows[printed], rows[~printed]) if compares else (rows, rows[:0])

    out.mkdir(parents=True, exist_ok=True)
    for file, frame, options in (
        (name, shown.round(4), {}),
        ("extra", extra.round(4), {}),
        ("intervals", spread, {"float_format": "%.5f"}),
        ("stream", stream(counts), {"index": False}),
        ("curves", learning, {"float_format": "%.6g"}),
        ("removed", pd.DataFrame(counts.get("removed", {}).get("sentences")), {"index": False, "float_format": "%.2f"}),
        ("genres", intervals.genres(config.table, corpus), {"float_format": "%.4f"}),
        (f"{name}-ratios", ratios, {"float_format": "%.4f"}),
        ("classes", classes, {"index": False}),
    ):
        if len(frame):
            frame.to_csv(out / f"{file}.csv", **options)
    if len(classes):
        (out / "classes.md").write_text(word_classes.markdown(classes), encoding="utf-8")
    notes = [f"Networks trained by {config.table.training}.", READINGS, SEVERAL if len(config.table.seeds) > 1 else ONE]
    notes += filter(None, [config.table.note, OTHER_CORPUS if compares and not config.table.same_corpus else ""])
    views = list(_views(shown, extra, ratios, rows, compares, config.table.same_corpus))
    titled = "".join((f"\n{of}:\n\n" if of else "") + markdown(view) for of, _, view in views)
    (out / f"{name}.md").write_text("\n\n".join([*notes, titled]) + f"\n{OPTIMISTIC}\n", encoding="utf-8")
    titled = "".join((f"\n% {short}\n" if of else "") + latex(view) for of, short, view in views if short is not None)
    (out / f"{name}.tex").write_text("".join(f"% {note}\n" for note in notes) + titled, encoding="utf-8")
    (out / f"{name}.svg").write_text(style.alone(curves.draw(learning, rows, config.table)), encoding="utf-8")
    write_json(out / "metrics.json", rows[["valid_raw", "test_raw"]].round(4).to_dict("index"))
    log.info("%d rows in %s", len(rows), (out / f"{name}.md").resolve())


def _views(shown, extra, ratios, rows, compares: bool, same_corpus: bool):
    """The tables of the report for readers: title, the title in LaTeX (None: it does not stand there), cells."""
    if same_corpus:
        shown, extra = (each.assign(against=each["test_raw"] / each["paper_test"] - 1) for each in (shown, extra))
    yield "", "", _without_blanks(laid_out(shown, views.REPORT), compares)
    if len(extra):
        yield "Not in the paper's table", None, laid_out(extra, views.REPORT)
    for yardstick, part in ratios.groupby("over", sort=False) if len(ratios) else ():
        row = rows.loc[yardstick]
        of = ", ".join([row["row"]] + [f"{key} = {row[key]}" for key in ("n", "c") if pd.notna(row[key])])
        seen = f"Perplexity over that of {of}, on the same tokens; `seen`: those whose word training shows"
        reached = "; `reached`: both raw ratios are at or below the paper's" if compares else ""
        ends = {f"{split}_{end}": f"{split}_raw_{end}" for split in SPLITS for end in ("low", "high")}
        view = laid_out(part.rename(columns=ends), views.RATIOS)
        yield seen + reached, f"perplexity over that of {of}", _without_blanks(view, compares)


def _without_blanks(view: pd.DataFrame, compares: bool) -> pd.DataFrame:
    """Where the paper prints none of a table's rows, the table without the columns that are then blank."""
    return view if compares else view.loc[:, (view.map(str) != "").any()]


def _classes(path: str, vocabulary: list[str]) -> pd.DataFrame:
    """What is shown of a file of word classes; empty without a file. Raises InputError for another corpus's."""
    if not path:
        return pd.DataFrame()
    try:
        class_file.read(Path(path), vocabulary)
    except InputError as error:
        raise InputError(f"clusters={path}: {error}; or give clusters= for none") from error
    return word_classes.shown(Path(path))


def stream(counts: dict) -> pd.DataFrame:
    """How many tokens, types and words of vocabulary the corpus has, ours and the paper's, where both are known; and
    the share of tokens that was left out as repeated, of the whole stream and of the stretch of each split."""
    ours = counts | dict(zip(SPLITS, np.diff(counts["boundaries"]).tolist(), strict=True))
    lines = [{"what": key, "ours": ours[key], "paper": value} for key, value in counts["paper"].items()]
    shares = counts["removed"]["shares"] if "removed" in counts else {}
    lines += [{"what": f"share removed of {key}", "ours": round(value, 4)} for key, value in shares.items()]
    return pd.DataFrame(lines, columns=["what", "ours", "paper"])


if __name__ == "__main__":
    app.run("report", main, timed=True)
