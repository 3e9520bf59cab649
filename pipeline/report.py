"""Stage report: a table of models, with intervals, ratios, perplexities by genre and learning curves."""

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
from pipeline.data.predictions import read_metrics
from pipeline.reporting import figures, intervals, resampling, style, table
from pipeline.reporting.views import VIEWS, laid_out, latex, markdown
from pipeline.running import app

TERMS = (
    "Figures without a name are raw: as the models give them, which is what the paper prints. `corrected`: corrected "
    "for unseen words, those that training never shows; the correction is fitted on validation."
)
SEVERAL_SEEDS = "Networks: means over seeds, ± their standard deviation."
ONE_SEED = "Networks: one seed."
SAMPLED = (
    "Training perplexities with a figure in brackets are of some of its tokens, in blocks spread evenly; the figure is "
    "their standard error."
)
OPTIMISTIC = (
    "Validation figures are optimistic: recipe, stopping, mixture weights and the unseen-word correction were "
    "chosen there."
)
OTHER_CORPUS = (
    "The paper's figures are of another corpus than ours: perplexities of the two can't be compared, ratios of models "
    "on the same tokens can."
)
# The ends of the ratios' intervals get new names, so that the view shows them in columns of their own.
ENDS = {"low": "from", "high": "to"}
INTERVALS = {f"{split}_raw_ratio_{end}": f"{split}_{name}" for split in table.EVAL_SPLITS for end, name in ENDS.items()}
# Word classes are shown as a sample, spread evenly from the most to the least frequent class.
CLASSES = 16  # classes shown
SMALLEST = 4  # words in the smallest class that is shown
WORDS = 12  # words shown of each class, the most frequent

log = logging.getLogger(__name__)


def main(config: Report) -> None:
    """Writes <name>.csv, .md, .tex and .svg, <name>-ratios.csv, extra.csv, seeds.csv, intervals.csv, stream.csv into
    config.out. And curves.csv where networks were trained, genres.csv where the corpus has genres, removed.csv where
    repeated sentences were left out of it, classes.csv and .md where clusters are given."""
    corpus = read_corpus(config.data)
    settings = config.table
    name = config.name
    out = Path(config.out)
    class_lines = classes(config.clusters, corpus.vocabulary)
    rows = table.build(settings, corpus)
    spread = intervals.build(settings, corpus)
    ratios = table.ratios(rows, settings.baselines, spread)
    counts = read_json(Path(config.data) / "counts.json")
    learning = curves(settings)
    in_paper = rows.index.map(settings.printed).to_numpy(dtype=bool)
    compares = bool(in_paper.any())
    main_rows, extra = (rows[in_paper], rows[~in_paper]) if compares else (rows, rows[:0])

    out.mkdir(parents=True, exist_ok=True)
    for file, frame, options in (
        (name, main_rows.round(4), {}),
        ("extra", extra.round(4), {}),
        ("seeds", seeds_of(settings), {"float_format": "%.4f"}),
        ("intervals", spread, {"float_format": "%.5f"}),
        ("stream", stream(counts), {"index": False}),
        ("curves", learning, {"float_format": "%.6g"}),
        ("removed", pd.DataFrame(counts.get("removed", {}).get("sentences")), {"index": False, "float_format": "%.2f"}),
        ("genres", intervals.genres(settings, corpus), {"float_format": "%.4f"}),
        (f"{name}-ratios", ratios, {"float_format": "%.4f"}),
        ("classes", class_lines, {"index": False}),
    ):
        if len(frame):
            frame.to_csv(out / f"{file}.csv", **options)
    if len(class_lines):
        text = f"# Word classes\n\nSome of them.\n\n{class_lines.to_markdown(index=False)}\n"
        (out / "classes.md").write_text(text, encoding="utf-8")
    seeds = SEVERAL_SEEDS if len(settings.seeds) > 1 else ONE_SEED
    notes = [table.trained_by(settings), TERMS, seeds]
    notes += [SAMPLED] * bool(rows["train_raw_se"].notna().any())
    notes += filter(None, [settings.note, OTHER_CORPUS if compares and not settings.same_corpus else ""])
    parts = {split: resampling.parts_of(corpus, split) for split in table.EVAL_SPLITS}
    blocks = {split: part for split, part in parts.items() if not part.are_texts}
    notes += [f"Intervals of {split} resample {part}, as it has few texts." for split, part in blocks.items()]
    heads = {f"{split}, 95 % over texts": f"{split}, 95 % over blocks" for split in blocks}
    same_corpus = settings.same_corpus
    views = [
        (title, short, view.rename(columns=heads))
        for title, short, view in views_of(
            main_rows, extra, ratios=ratios, rows=rows, compares=compares, same_corpus=same_corpus
        )
    ]
    text = "".join((f"\n{title}:\n\n" if title else "") + markdown(view) for title, _, view in views)
    (out / f"{name}.md").write_text("\n\n".join([*notes, text]) + f"\n{OPTIMISTIC}\n", encoding="utf-8")
    text = "".join((f"\n% {short}\n" if short else "") + latex(view) for _, short, view in views if short is not None)
    (out / f"{name}.tex").write_text("".join(f"% {note}\n" for note in notes) + text, encoding="utf-8")
    svg = figures.curves(
        learning, rows, training=settings.short, same_corpus=same_corpus, valid_tokens=len(corpus.valid)
    )
    (out / f"{name}.svg").write_text(style.alone(svg), encoding="utf-8")
    write_json(out / "metrics.json", rows[["valid_raw", "test_raw"]].round(4).to_dict("index"))
    log.info("%d rows in %s", len(rows), (out / f"{name}.md").resolve())


def views_of(
    main_rows: pd.DataFrame,
    extra: pd.DataFrame,
    ratios: pd.DataFrame,
    rows: pd.DataFrame,
    compares: bool,
    same_corpus: bool,
) -> Iterator[tuple[str, str | None, pd.DataFrame]]:
    """The tables of the report for readers, each as title, title in LaTeX (None: not in the LaTeX file), and text.

    main_rows, extra: the rows that the paper prints, and the others; compares: whether the paper prints any (if not,
    blank columns are left out); same_corpus: whether the paper's corpus is ours.
    """
    if same_corpus:
        main_rows, extra = (
            part.assign(against=part["test_raw"] / part["paper_test"] - 1) for part in (main_rows, extra)
        )
    views = [("", "", laid_out(main_rows, VIEWS["report"]))]
    if len(extra):
        views.append(("Not in the paper's table", None, laid_out(extra, VIEWS["report"])))
    for baseline, part in ratios.groupby("over", sort=False) if len(ratios) else ():
        short = f"perplexity over that of {table.label(rows.loc[baseline])}"
        reached = "; `reached`: both raw ratios are at or below the paper's" if compares else ""
        title = f"P{short[1:]}, on the same tokens; `seen`: those whose word training shows{reached}"
        views.append((title, short, laid_out(part.rename(columns=INTERVALS), VIEWS["ratios"])))
    for title, short, view in views:
        yield title, short, view if compares else view.loc[:, (view != "").any()]


def folders_by_seed(settings: Table) -> dict[tuple[str, int], Path]:
    """The folder of each seed of each model of a table, by name and seed."""
    return {
        (name, seed): folder
        for name, seeds in settings.names.items()
        for seed, folder in zip(seeds, table.folders_of(settings, name), strict=True)
    }


def seeds_of(settings: Table) -> pd.DataFrame:
    """Perplexities of each seed of each model, one line each, indexed by name and seed: of `raw` and `corrected` on
    validation and test."""
    columns = [f"{split}_{key}" for split in table.EVAL_SPLITS for key in ("raw", "corrected")]
    lines = [
        {"name": name, "seed": seed} | {column: read_metrics(folder)[column] for column in columns}
        for (name, seed), folder in folders_by_seed(settings).items()
    ]
    return pd.DataFrame(lines).set_index(["name", "seed"])


def curves(settings: Table) -> pd.DataFrame:
    """Learning curves: one line per epoch of each seed of each network, indexed by name and seed. Columns as in
    curve.csv: epoch, running training perplexity, and validation perplexity on the tokens of early stopping."""
    files = {key: folder / "curve.csv" for key, folder in folders_by_seed(settings).items()}
    parts = [pd.read_csv(file).assign(name=name, seed=seed) for (name, seed), file in files.items() if file.is_file()]
    parts = parts or [pd.DataFrame(columns=["epoch", "valid_tokens", *figures.PANELS, "name", "seed"])]
    return pd.concat(parts).set_index(["name", "seed"])


def classes(path: str, vocabulary: list[str]) -> pd.DataFrame:
    """A sample of the word classes: number, how often the class occurs in training, and words. Empty without a path.
    Raises InputError for classes of another vocabulary."""
    if not path:
        return pd.DataFrame()
    words = pd.read_csv(path, keep_default_na=False) if Path(path).is_file() else pd.DataFrame(columns=["word"])
    if sorted(words["word"]) != sorted(vocabulary):
        raise InputError(f"clusters={path}: not there, or not classes of this vocabulary; or give clusters= for none")
    grouped = words.groupby("class")
    sizes = grouped["frequency"].sum().sort_values(ascending=False, kind="stable")
    large = sizes[grouped.size()[sizes.index] >= SMALLEST]
    sample = large.iloc[np.linspace(0, len(large) - 1, min(CLASSES, len(large))).round().astype(int)]
    lines = [(number, tokens, " ".join(grouped.get_group(number)["word"][:WORDS])) for number, tokens in sample.items()]
    return pd.DataFrame(lines, columns=["class", "tokens", "words"])


def stream(counts: dict) -> pd.DataFrame:
    """The counts of the corpus that the paper prints (tokens, types, vocabulary and so on), ours and the paper's. And
    the share of tokens removed as repetitions, from the whole stream and from the part of each split."""
    ours = counts | dict(zip(SPLITS, np.diff(counts["boundaries"]).tolist(), strict=True))
    lines = [{"what": key, "ours": ours[key], "paper": value} for key, value in counts["paper"].items()]
    shares = counts["removed"]["shares"] if "removed" in counts else {}
    lines += [{"what": f"share removed of {key}", "ours": round(value, 4)} for key, value in shares.items()]
    return pd.DataFrame(lines, columns=["what", "ours", "paper"])


if __name__ == "__main__":
    app.run("report", main, timed=True)
