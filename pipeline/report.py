"""Stage report: a comparison table with intervals, ratios, genres and learning curves, from all models' arrays."""

import logging
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.config.report import Report
from pipeline.config.tables import Table
from pipeline.core.common.errors import InputError
from pipeline.core.common.stream import SPLITS
from pipeline.data.corpus import read_corpus
from pipeline.data.files import read_json, write_json
from pipeline.reporting import figures, intervals, style, table
from pipeline.reporting.views import VIEWS, laid_out, latex, markdown
from pipeline.running import app

HOW_TO_READ = (
    "Figures without a name are raw: as the models give them, which is what the paper reads. `with share`: after the "
    "last step for words that training never shows, whose share is fitted on validation."
)
SEVERAL, ONE = "Networks: means over seeds, ± their standard deviation.", "Networks: one seed."
SAMPLED = (
    "Training perplexities with a figure in brackets are of some of its tokens, in blocks spread evenly; the figure is "
    "their standard error."
)
OPTIMISTIC = (
    "Validation figures are optimistic: recipe, stopping, mixture weights and the share for unseen words were chosen "
    "there."
)
OTHER_CORPUS = (
    "The paper's figures are of another corpus than ours: perplexities of the two can't be compared, ratios of models "
    "on the same tokens can."
)
# The ends of ratios' intervals, which have a column of their own.
INTERVALS = {"valid_low": "valid_from", "valid_high": "valid_to", "test_low": "test_from", "test_high": "test_to"}
# Of the classes those that are shown, spread evenly from the most to the least frequent one, each with its most
# frequent words; smaller classes show nothing.
CLASSES, SMALLEST, WORDS = 16, 4, 12

log = logging.getLogger(__name__)


def main(config: Report) -> None:
    """Writes <name>.csv, .md, .tex and .svg, <name>-ratios.csv, extra.csv, intervals.csv, stream.csv, curves.csv where
    networks were trained, genres.csv where the corpus has genres, removed.csv where repeated sentences were left out of
    it, and classes.csv and .md where clusters are given, into config.out."""
    corpus, listed, name, out = read_corpus(config.data), config.table, config.name, Path(config.out)
    shown_classes = classes(config.clusters, corpus.vocabulary)
    rows, spread = table.build(listed, corpus), intervals.build(listed, corpus)
    ratios = table.ratios(rows, listed.yardsticks, spread)
    counts, learning = read_json(Path(config.data) / "counts.json"), curves(listed)
    printed = rows.index.map(listed.printed).to_numpy(dtype=bool)
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
        ("genres", intervals.genres(listed, corpus), {"float_format": "%.4f"}),
        (f"{name}-ratios", ratios, {"float_format": "%.4f"}),
        ("classes", shown_classes, {"index": False}),
    ):
        if len(frame):
            frame.to_csv(out / f"{file}.csv", **options)
    if len(shown_classes):
        text = f"# Word classes\n\nSome of them.\n\n{shown_classes.to_markdown(index=False)}\n"
        (out / "classes.md").write_text(text, encoding="utf-8")
    notes = [f"Networks trained by {listed.training}.", HOW_TO_READ, SEVERAL if len(listed.seeds) > 1 else ONE]
    notes += [SAMPLED] * bool(rows["train_se"].notna().any())
    notes += filter(None, [listed.note, OTHER_CORPUS if compares and not listed.same_corpus else ""])
    views = list(views_of(shown, extra, ratios, rows, compares, listed.same_corpus))
    text = "".join((f"\n{title}:\n\n" if title else "") + markdown(view) for title, _, view in views)
    (out / f"{name}.md").write_text("\n\n".join([*notes, text]) + f"\n{OPTIMISTIC}\n", encoding="utf-8")
    text = "".join((f"\n% {short}\n" if short else "") + latex(view) for _, short, view in views if short is not None)
    (out / f"{name}.tex").write_text("".join(f"% {note}\n" for note in notes) + text, encoding="utf-8")
    (out / f"{name}.svg").write_text(style.alone(figures.curves(learning, rows, listed.same_corpus)), encoding="utf-8")
    write_json(out / "metrics.json", rows[["valid_raw", "test_raw"]].round(4).to_dict("index"))
    log.info("%d rows in %s", len(rows), (out / f"{name}.md").resolve())


def views_of(
    shown: pd.DataFrame, extra: pd.DataFrame, ratios: pd.DataFrame, rows: pd.DataFrame, compares: bool, same: bool
) -> Iterator[tuple[str, str | None, pd.DataFrame]]:
    """The tables of the report for readers: title, the title in LaTeX (None: it does not stand there), text.

    shown, extra: the rows that the paper prints, and the others; compares: whether it prints any, if not, columns that
    are then blank are left out; same: whether its corpus is ours.
    """
    if same:
        shown, extra = (each.assign(against=each["test_raw"] / each["paper_test"] - 1) for each in (shown, extra))
    views = [("", "", laid_out(shown, VIEWS["report"]))]
    if len(extra):
        views.append(("Not in the paper's table", None, laid_out(extra, VIEWS["report"])))
    for over, part in ratios.groupby("over", sort=False) if len(ratios) else ():
        short = f"perplexity over that of {table.label(rows.loc[over])}"
        reached = "; `reached`: both raw ratios are at or below the paper's" if compares else ""
        title = f"P{short[1:]}, on the same tokens; `seen`: those whose word training shows{reached}"
        views.append((title, short, laid_out(part.rename(columns=INTERVALS), VIEWS["ratios"])))
    for title, short, view in views:
        yield title, short, view if compares else view.loc[:, (view != "").any()]


def curves(listed: Table) -> pd.DataFrame:
    """Learning curves: a line an epoch of each seed of each network, with name, seed, and the columns of curve.csv: the
    running training perplexity, and validation perplexity where early stopping reads."""
    files = {
        (name, seed): folder / "curve.csv"
        for name, seeds in listed.names.items()
        for seed, folder in zip(seeds, table.folders_of(listed, name), strict=True)
    }
    parts = [pd.read_csv(file).assign(name=name, seed=seed) for (name, seed), file in files.items() if file.is_file()]
    parts = parts or [pd.DataFrame(columns=["epoch", *figures.PANELS, "name", "seed"])]
    return pd.concat(parts).set_index(["name", "seed"])


def classes(path: str, vocabulary: list[str]) -> pd.DataFrame:
    """Some word classes to look at: number, how often the class occurs in training, and its words; empty without a
    file. Raises InputError for another corpus's."""
    if not path:
        return pd.DataFrame()
    words = pd.read_csv(path, keep_default_na=False) if Path(path).is_file() else pd.DataFrame(columns=["word"])
    if sorted(words["word"]) != sorted(vocabulary):
        raise InputError(f"clusters={path}: not there, or not classes of this vocabulary; or give clusters= for none")
    grouped = words.groupby("class")
    sizes = grouped["frequency"].sum().sort_values(ascending=False, kind="stable")
    kept = sizes[grouped.size()[sizes.index] >= SMALLEST]
    chosen = kept.iloc[np.linspace(0, len(kept) - 1, min(CLASSES, len(kept))).round().astype(int)]
    lines = [(number, tokens, " ".join(grouped.get_group(number)["word"][:WORDS])) for number, tokens in chosen.items()]
    return pd.DataFrame(lines, columns=["class", "tokens", "words"])


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
