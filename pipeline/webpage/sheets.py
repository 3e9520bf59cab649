"""The tables of the page: each a view of the reports' CSV files, whose cells the template lays out."""

from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from pipeline.config.tables import KINDS, Table
from pipeline.reporting import claims_text, costs, table, views
from pipeline.reporting.cells import Cell, Column, laid_out
from pipeline.webpage import rows

YARDSTICK, TRIGRAM = "kn5", "interpolated3"
EACH = [(split, reading) for split in ("valid", "test") for reading in ("raw", "with share")]
READINGS = [f"{split}, {reading}" for split, reading in EACH]
WHOLE = "{:,.0f}"
SPLIT_NAMES = {"valid": "validation", "train": "training"}  # for readers who don't see the files
HEADS = {"better": "model", "than": "compared with", "other": "compared with", "here": "found here"}
CLAIMS = {
    "claims": (claims_text.claims_view, "Claims about perplexity"),
    "curves": (claims_text.curves_view, "Claims about learning curves: validation perplexity, one seed, no interval"),
    "incomparable": (claims_text.curves_view, "Claims that can't be judged here"),
    "exploratory": (claims_text.pairs_view, "What we found beyond the papers: no claim of theirs, and no verdict"),
}
OUT_OF_VOCABULARY = [
    *(Column("split", "part"), Column("tokens", "tokens", WHOLE)),
    *(Column(name, name, WHOLE) for name in ("merged", "untrained", "expected")),
    Column("ratio", "ratio", "{:.3f}"),
]
TIMES = [Column("says", "the paper says"), Column("what", "measured"), Column("paper", "paper", "{:.3g}")]


@dataclass
class Sheet:
    """A table of the page."""

    title: str
    view: pd.DataFrame = field(default_factory=pd.DataFrame)  # of cells, under their heads; the first names a row
    files: list[str] = field(default_factory=list)  # the CSV files below reports/ that it is from


class Sheets:
    """Makes them, from the reports' folder; one without lines where a file is not there."""

    def __init__(self, reports: Path, registry: dict[str, Table]):
        self.reports = reports
        self.tables = {name: listed for name, listed in registry.items() if listed.title and self.there(listed.csv)}
        whole = (name for name in self.tables if self.there(self.beside(name, "intervals")))
        self.rows = {name: rows.read(reports, self.tables[name]) for name in whole}
        self.called = rows.labels(list(self.rows.values()))

    def there(self, file: str) -> bool:
        """Whether the reports have a file."""
        return (self.reports / file).is_file()

    def read(self, file: str, **options) -> pd.DataFrame:
        """A CSV file's lines; none where there is no file."""
        lines = pd.read_csv(self.reports / file, **options) if self.there(file) else pd.DataFrame()
        return lines.replace({"split": SPLIT_NAMES, "what": SPLIT_NAMES})

    def beside(self, name: str, file: str) -> str:
        """A file that belongs to a table."""
        return str(Path(self.tables[name].csv).with_name(f"{file}.csv"))

    def sheet(self, title: str, file: str, columns: list[Column] | dict[str, str]) -> Sheet:
        """Some columns of a CSV file, or all with these heads, as whole numbers."""
        heads = [Column(*each, WHOLE) for each in columns.items()] if isinstance(columns, dict) else columns
        return Sheet(title, laid_out(self.read(file), heads), [file])

    def table(self, name: str) -> Sheet:
        """A table of the registry, with ratios to some of its yardsticks, to the first of them beside the paper's."""
        listed, frame = self.tables[name], self.rows[name]
        names = "train paper_train valid_raw paper_valid valid test_raw paper_test test"
        columns = table.columns(names if listed.same_corpus else "train valid_raw valid test_raw test")
        for other in listed.against:
            head = f"test over {self.called[other]}"
            columns.append(Column(f"to_{other}", head, "{:.3f}"))
            if other == listed.against[0] or not listed.same_corpus:
                columns.append(Column(f"paper_to_{other}", f"{head}, paper", "{:.3f}"))
            if other == listed.against[0]:
                columns.append(Column(f"less_{other}", f"{head}, difference", "{:+.1%}"))
        view = _headed(frame, columns)
        for column in (column for column in columns if column.name.startswith("less_") and column.head in view):
            shaded = zip(view[column.head], -frame[column.name], strict=True)
            view[column.head] = [cell._replace(more=below) if cell.text else cell for cell, below in shaded]
        files = [listed.csv, *(self.beside(name, each) for each in ("extra", "intervals", f"{name}-ratios"))]
        return Sheet(listed.title, view, files)

    def section(self, name: str) -> list[Sheet]:
        """The tables of a section."""
        return [self.table(each) for each in self.rows if (self.tables[each].section or each) == name]

    def replication(self) -> Sheet:
        """Table 1 as printed and by both trainings."""
        frame = self.read("replication.csv")
        shapes = [rows.shape(line) for line in frame.to_dict("records")]
        shorts = {self.tables[name].column: self.tables[name].short for name in self.trainings()}
        title = "Table 1: the paper and our trainings, validation / test"
        return Sheet(title, _headed(frame.assign(shape=shapes), views.replication(shorts)[5:]), ["replication.csv"])

    def trainings(self) -> list[str]:
        """The tables that are trainings of Table 1, as they stand side by side."""
        return [name for name in self.rows if self.tables[name].column]

    def summary(self) -> Sheet:
        """The best rows of the paper and of each training, n-grams, and the best of what came later."""
        return self.sheet("Perplexity on the Brown corpus", "summary.csv", views.SUMMARY)

    def yardsticks(self) -> Sheet:
        """By training, n-gram and reading: how many rows of Table 1 have a ratio to it at or below the paper's."""
        title = "How many rows of Table 1 reach the paper's ratio to an n-gram"
        return self.sheet(title, "yardsticks.csv", views.YARDSTICKS)

    def reached(self, other: str) -> Sheet:
        """The same of one n-gram, a line a training."""
        frame = self.read("yardsticks.csv")
        if not len(frame):
            return Sheet("")
        frame = frame[frame["over"] == other]
        counts = frame.pivot(index="training", columns="reading", values=["valid", "test"])[EACH].astype(str)
        title = f"Rows of {frame['of'].max()} that reach the paper's ratio to {self.called[other]}"
        return Sheet(
            title, _texts([[*line] for line in counts.itertuples()], ["training", *READINGS]), ["yardsticks.csv"]
        )

    def distance(self) -> Sheet:
        """How far each training is from the training and validation perplexities that the paper prints."""
        title = "Training and validation perplexity over the trigram's on validation, beside the paper's"
        return self.sheet(title, "distance.csv", views.DISTANCE)

    def seeds(self, name: str) -> str:
        """Of how many seeds a table's networks are."""
        count = self.read(self.tables[name].csv)["seeds"].max() if name in self.tables else 0
        return "one seed" if count == 1 else f"{count} seeds"

    def claims(self, name: str) -> list[Sheet]:
        """What the stage claims left of a table: claims of each kind, then pairs that the papers do not compare."""
        sheets = []
        for kind, (view, title) in CLAIMS.items():
            lines = self.read(file := f"claims/{name}/{kind}.csv")
            texts = lines.columns.intersection(["figure", "added", *(["paper"] if kind == "curves" else [])])
            lines[texts] = lines[texts].astype(object).fillna("")
            if not len(lines):
                continue
            frame = view(lines).rename(columns=HEADS)
            for key in frame.columns.intersection(["model", "compared with"]):
                frame[key] = [rows.renamed(names, self.called) for names in frame[key]]
            if "found here" in frame:
                quoted = {name: f"“{label}”" for name, label in self.called.items()}
                frame["found here"] = [rows.renamed(sentence, quoted) for sentence in frame["found here"]]
            sheets.append(Sheet(title, frame.map(lambda each: each if isinstance(each, Cell) else Cell(each)), [file]))
        return sheets

    def verdicts(self) -> Sheet:
        """How many claims of each table hold, of how many, and how many are open."""
        lines = []
        for name in (name for name in self.tables if self.there(f"claims/{name}/claims.csv")):
            judged = pd.read_csv(self.reports / f"claims/{name}/claims.csv").groupby(["split", "reading"])["holds"]
            curves = self.read(f"claims/{name}/curves.csv").get("holds", pd.Series(dtype=str))
            counts = [_counts(verdicts) for verdicts in (*map(judged.get_group, EACH), curves)]
            lines.append([f"{self.tables[name].title}, {self.seeds(name)}", *counts])
        if len(times := self.times().view):
            held = pd.Series([cell.more for cell in times["ours"]])
            lines.append(["Speed of training", "", "", "", "", _counts(held)])
        title = "Claims of the papers: how many hold, of how many"
        return Sheet(title, _texts(lines, ["claims of", *READINGS, "curves, time"]))

    def times(self) -> Sheet:
        """What the paper, and Bengio and Senecal (2003), say of time, with our figures where `make bench` left them."""
        lines, files = [], ["benchmark/parallel.csv", "benchmark/sampling.csv"]
        if self.there(files[0]):
            runs = self.read(files[0]).query("softmax == 'full' and way == 'ParameterParallel' and processes > 1")
            says = "Parameter-parallel training spends 1/15 of its time in communication"
            for processes, ours in zip(runs["processes"], runs["share of time"], strict=True):
                what = f"share of the time, {processes} processes, full softmax"
                lines.append({"says": says, "what": what, "paper": 1 / 15, "ours": ours, "holds": ours <= 1 / 15})
        if self.there(files[1]):
            ours = self.read(files[1], index_col=0).loc["importance, 1,024 draws", "times faster than full"]
            says = "Importance sampling trains a hundred times faster than the full softmax (Bengio and Senecal, 2003)"
            what = "times faster, 1,024 draws, in batches"
            lines.append({"says": says, "what": what, "paper": 100, "ours": ours, "holds": ours >= 100})
        view = laid_out(pd.DataFrame(lines), TIMES)
        if lines:
            view["ours"] = [Cell(f"{line['ours']:.3g}", more="yes" if line["holds"] else "no") for line in lines]
        return Sheet("Claims about time", view, files)

    def timeline(self) -> Sheet:
        """Models by year."""
        frame = self.read("timeline/timeline.csv")
        shape = frame["kind"].where(frame["kind"] == "adapts", "").replace(KINDS) if len(frame) else ""
        view = _headed(frame.assign(shape=shape), views.TIMELINE[1:]) if len(frame) else frame
        return Sheet("Models by year", view, ["timeline/timeline.csv", "later/later.csv", "later/intervals.csv"])

    def out_of_vocabulary(self) -> Sheet:
        """Of every network that was tried so."""
        files = [f"beyond/{file.name}" for file in sorted(self.reports.glob("beyond/out-of-vocabulary-*.csv"))]
        scored = {"after": "tokens after such a word", "itself": "such words themselves"}
        frames = [self.read(file).assign(row=file.partition("vocabulary-")[2].removesuffix(".csv")) for file in files]
        frame = pd.concat(frames).replace({"row": self.called}) if frames else pd.DataFrame()
        view = _headed(frame.assign(shape=frame["scored"].replace(scored)), OUT_OF_VOCABULARY) if frames else frame
        return Sheet("Perplexity with features for words that training never shows", view, files)

    def costs(self) -> list[Sheet]:
        """What each stage of each table took, and each item of theirs."""
        spent = costs.read(self.reports / "costs.csv").sort_values("seconds", ascending=False)
        spent["item"] = [rows.model(item, self.called) for item in spent["item"]]
        columns = {
            "stage": "stage",
            "table": "of",
            "items": "items",
            "seconds": "seconds",
            "longest": "the longest item",
        }
        columns |= {"longest_seconds": "its seconds", "words_per_second": "words/s in training"}
        columns |= {"peak_memory_mb": "peak memory, MB"}
        shown = [Column(*each, WHOLE) for each in columns.items()]
        titles = {name: listed.title for name, listed in self.tables.items()}
        by_stage, by_item = (frame.replace({"table": titles}) for frame in (costs.by_stage(spent), spent))
        return [
            Sheet("Cost by stage", laid_out(by_stage, shown), ["costs.csv"]),
            Sheet("Cost of each item", laid_out(by_item, [Column("item", "item"), *shown]), ["costs.csv"]),
        ]


def _headed(frame: pd.DataFrame, columns: list[Column]) -> pd.DataFrame:
    """A view whose first column has the row's label and shape; columns without any figure are left out."""
    view = laid_out(frame, columns)
    view = view.loc[:, view.map(lambda cell: bool(cell.text)).any()]
    view.insert(0, "row", [Cell(*each) for each in zip(frame["row"], frame["shape"], strict=True)])
    return view


def _texts(lines: list[list[str]], heads: list[str]) -> pd.DataFrame:
    return pd.DataFrame(lines, columns=heads).map(Cell)


def _counts(verdicts: pd.Series) -> str:
    held, still_open = ((verdicts == verdict).sum() for verdict in ("yes", "open"))
    return (f"{held} of {len(verdicts)}" + f", {still_open} open" * bool(still_open)) if len(verdicts) else ""
