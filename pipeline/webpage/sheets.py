"""The tables of the page: each a view of one of the reports' CSV files, whose cells the template lays out."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from pipeline.reporting import claims_text, costs, table, views
from pipeline.reporting.cells import Cell, Column, laid_out
from pipeline.reporting.registry import KINDS, Table
from pipeline.webpage import rows

YARDSTICK, TRIGRAM, BEST_NGRAM = "kn5", "interpolated3", "best-ngram"
EACH = [(split, reading) for split in ("valid", "test") for reading in ("raw", "with share")]
READINGS = [f"{split}, {reading}" for split, reading in EACH]
HEADS = {"better": "model", "than": "compared with", "other": "compared with", "here": "found here"}
VERDICTS = ("yes", "no", "open")
WHOLE = "{:,.0f}"


@dataclass
class Sheet:
    """A table of the page."""

    title: str
    view: pd.DataFrame  # of cells, under their heads; the first column names a row
    files: list[str]  # the CSV files below reports/ that it is from


class Sheets:
    """Makes them, from the reports' folder."""

    def __init__(self, reports: Path, registry: dict[str, Table]):
        self.reports = reports
        self.tables = {name: listed for name, listed in registry.items() if listed.title and self.there(listed.csv)}
        with_intervals = {name: listed for name, listed in self.tables.items() if self.there(self._beside(listed, "intervals"))}
        self.rows = {name: rows.read(reports, listed) for name, listed in with_intervals.items()}
        self.called = rows.labels(list(self.rows.values()))

    def there(self, file: str) -> bool:
        """Whether the reports have a file."""
        return (self.reports / file).is_file()

    def read(self, file: str, **options) -> pd.DataFrame:
        """A CSV file's lines; none where there is no file."""
        return pd.read_csv(self.reports / file, **options) if self.there(file) else pd.DataFrame()

    def sheet(self, title: str, file: str, columns: list[Column]) -> Sheet:
        """Some columns of a CSV file."""
        return Sheet(title, laid_out(self.read(file), columns), [file])

    def _beside(self, listed: Table, name: str) -> str:
        return str(Path(listed.csv).with_name(f"{name}.csv"))

    def table(self, name: str) -> Sheet:
        """A table of the registry, with ratios to its first yardsticks beside the paper's."""
        listed, frame = self.tables[name], self.rows[name]
        names = "train paper_train valid_raw paper_valid valid test_raw paper_test test"
        columns = table.columns(names if listed.same_corpus else "train valid_raw valid test_raw test")
        ratios = {other: f"ratio on test to {self.called[other]}" for other in listed.against}
        for other, head in ratios.items():
            columns += [Column(f"to_{other}", head, "{:.3f}"), Column(f"paper_to_{other}", f"{head}, paper", "{:.3f}")]
            columns.append(Column(f"less_{other}", f"{head}, difference", "{:+.1%}"))
        view = _headed(frame, columns)
        for other, head in ratios.items():
            if (shaded := f"{head}, difference") in view:
                less = zip(view[shaded], -frame[f"less_{other}"], strict=True)
                view[shaded] = [cell._replace(more=below) if cell.text else cell for cell, below in less]
        files = [listed.csv, *(self._beside(listed, each) for each in ("extra", "intervals", f"{name}-ratios"))]
        return Sheet(listed.title, view, files)

    def differences(self, name: str, others: list[str]) -> Sheet:
        """By how much each row's raw test perplexity differs from that of other models."""
        columns = [Column(f"more_{other}", f"to {self.called[other]}", "{:+.1%}") for other in others]
        title = f"{self.tables[name].title}: difference of raw test perplexity"
        return Sheet(title, _headed(self.rows[name], columns), [self._beside(self.tables[name], "intervals")])

    def of_section(self, section: str, others: list[str]) -> Iterator[Sheet]:
        """The tables of a section, each with the differences to the models `others` where it has them."""
        for name in (name for name, listed in self.tables.items() if listed.section == section and name in self.rows):
            yield self.table(name)
            if all(f"more_{other}" in self.rows[name] for other in others):
                yield self.differences(name, others)

    def replication(self) -> Sheet:
        """Table 1 as printed and by both trainings."""
        shorts = {"procedure": self.tables["faithful"].short, "recipe": self.tables["table1"].short}
        frame = self.read("replication.csv")
        frame["shape"] = [rows.shape(line) for line in frame.to_dict("records")]
        title = "Table 1: the paper, the paper's procedure and today's recipe, validation / test"
        return Sheet(title, _headed(frame, views.replication(shorts)[5:]), ["replication.csv"])

    def leading(self) -> Sheet:
        """Perplexities of Kneser-Ney 5, of the best mixture of n-grams, and of each training's best row by raw
        validation: valid and test, raw and with the share."""
        frame = self.read("replication.csv", index_col="name")
        networks = frame[frame["row"].str.startswith("MLP")]
        chosen = {"Kneser-Ney 5, interpolated": (YARDSTICK, "recipe"), "best mixture of n-grams": (BEST_NGRAM, "recipe")}
        for whose, listed in (("procedure", "faithful"), ("recipe", "table1")):
            name = networks[f"{whose}_valid"].idxmin()
            chosen[f"best MLP row by {self.tables[listed].short}: {networks.loc[name, 'row']}"] = (name, whose)
        endings = ("valid", "valid_share", "test", "test_share")
        lines = [[what, *(frame.loc[name, f"{whose}_{each}"] for each in endings)] for what, (name, whose) in chosen.items()]
        columns = [Column("row", "model", "{}"), *(Column(reading, reading) for reading in READINGS)]
        frame = pd.DataFrame(lines, columns=["row", *READINGS])
        return Sheet("Perplexity on the Brown corpus", laid_out(frame, columns), ["replication.csv"])

    def reached(self, others: list[str]) -> Sheet | None:
        """By each training of Table 1: for each split and reading, how many of the rows for which the paper prints
        perplexities have a ratio at or below the paper's to each of the models `others`."""
        lines, files = [], []
        for name, listed in self.tables.items():
            ratios = self.read(self._beside(listed, f"{name}-ratios"))
            if not (listed.same_corpus and listed.short and len(ratios)):
                continue
            groups = ratios.query("paper_test.notna()").groupby("over")
            counts = [
                " / ".join(str((each[column] <= each[f"paper_{split}"]).sum()) for each in map(groups.get_group, others))
                for split in ("valid", "test")
                for column in (f"{split}_raw", split)
            ]
            lines.append([f"{listed.short}, {self.seeds(name)}", *counts])
            files.append(self._beside(listed, f"{name}-ratios"))
            of = groups.size().min()
        if not lines:
            return None
        title = f"How many of {of} rows reach the paper's ratio to Kneser-Ney 5 / its best n-gram"
        return Sheet(title, _texts(lines, ["training of Table 1", *READINGS]), files)

    def seeds(self, name: str) -> str:
        """Of how many seeds a table's networks are."""
        count = table.read_rows(self.reports, self.tables[name])["seeds"].max()
        return "one seed" if count == 1 else f"{count} seeds"

    def claims(self, name: str) -> dict[str, Sheet]:
        """What the stage claims left of a table, by file: those that are there."""
        titles = {
            "claims": (claims_text.claims_view, "Claims about perplexity"),
            "curves": (claims_text.curves_view, "Claims about learning curves: validation perplexity, one seed, no interval"),
            "incomparable": (claims_text.curves_view, "Claims that can't be judged here"),
            "exploratory": (claims_text.pairs_view, "What we found beyond the papers: no claim of theirs, and no verdict"),
        }
        sheets = {}
        for kind, (view, title) in titles.items():
            file = f"claims/{name}/{kind}.csv"
            lines = self.read(file)
            texts = lines.columns.intersection(["figure", "added", *(["paper"] if kind == "curves" else [])])
            lines[texts] = lines[texts].astype(object).fillna("")
            if not len(lines):
                continue
            frame = view(lines).rename(columns=HEADS)
            for key in frame.columns.intersection(["model", "compared with"]):
                frame[key] = frame[key].map(lambda each: self.called.get(each, each))
            if "found here" in frame:
                quoted = {name: f"“{label}”" for name, label in self.called.items()}
                frame["found here"] = [rows.renamed(sentence, quoted) for sentence in frame["found here"]]
            sheets[kind] = Sheet(title, frame.map(lambda each: each if isinstance(each, Cell) else Cell(each)), [file])
        return sheets

    def verdicts(self) -> Sheet | None:
        """How many claims of each table hold, do not hold and are open."""
        lines = []
        for name in (name for name in self.tables if self.there(f"claims/{name}/claims.csv")):
            judged = self.read(f"claims/{name}/claims.csv").groupby(["split", "reading"])["holds"]
            curves = self.read(f"claims/{name}/curves.csv")
            cells = [_counts(judged.get_group(each)) for each in EACH] + [_counts(curves["holds"]) if len(curves) else ""]
            lines.append([f"{self.tables[name].title}, {self.seeds(name)}", *cells])
        if not lines:
            return None
        if (times := self.times()) is not None:
            lines.append(["Speed of training", "", "", "", "", _counts(pd.Series([cell.more for cell in times.view["ours"]]))])
        title = "Claims of the papers: how many hold / do not hold / are open"
        return Sheet(title, _texts(lines, ["claims of", *READINGS, "curves, time"]), [])

    def times(self) -> Sheet | None:
        """What the paper, and Bengio and Senecal (2003), say of time, with our figures where `make bench` left them."""
        lines = []
        if len(runs := self.read("benchmark/parallel.csv")):
            runs = runs.query("softmax == 'full' and way == 'ParameterParallel' and processes > 1")
            for processes, share in zip(runs["processes"], runs["share of time"], strict=True):
                says = "Parameter-parallel training spends 1/15 of its time in communication"
                what = f"share of the time, {processes} processes, full softmax"
                lines.append((says, what, 1 / 15, share, share <= 1 / 15))
        if len(runs := self.read("benchmark/sampling.csv", index_col="softmax")):
            times = runs.loc["importance, 1,024 draws", "times faster than full"]
            says = "Importance sampling trains a hundred times faster than the full softmax (Bengio and Senecal, 2003)"
            lines.append((says, "times faster, 1,024 draws, in batches", 100, times, times >= 100))
        cells = [
            [Cell(says), Cell(what), Cell(f"{paper:.3g}"), Cell(f"{ours:.3g}", more="yes" if holds else "no")]
            for says, what, paper, ours, holds in lines
        ]
        heads = ["the paper says", "measured", "paper", "ours"]
        files = ["benchmark/parallel.csv", "benchmark/sampling.csv"]
        return Sheet("Claims about time", pd.DataFrame(cells, columns=heads), files) if lines else None

    def timeline(self) -> Sheet:
        """Models by year."""
        frame = self.read("timeline/timeline.csv")
        frame = frame.assign(shape=[KINDS["adapts"] if kind == "adapts" else "" for kind in frame["kind"]])
        files = ["timeline/timeline.csv", "later/later.csv", "later/intervals.csv"]
        return Sheet("Models by year", _headed(frame, views.TIMELINE[1:]), files)

    def out_of_vocabulary(self) -> Sheet | None:
        """Of every network that was tried so."""
        frames, files = [], sorted(self.reports.glob("beyond/out-of-vocabulary-*.csv"))
        said = {"after": "tokens after such a word", "itself": "such words themselves"}
        for file in files:
            frame, network = pd.read_csv(file), file.stem.removeprefix("out-of-vocabulary-")
            frames.append(frame.assign(row=self.called.get(network, network), shape=frame["scored"].map(said)))
        if not files:
            return None
        columns = [Column("split", "part", "{}"), Column("tokens", "tokens", WHOLE), Column("ratio", "ratio", "{:.3f}")]
        columns[2:2] = [Column(name, name, WHOLE) for name in ("merged", "untrained", "expected")]
        title = "Perplexity with features for words that training never shows"
        return Sheet(title, _headed(pd.concat(frames), columns), [f"beyond/{file.name}" for file in files])

    def costs(self) -> list[Sheet]:
        """What each stage of each table took, and each item of theirs."""
        spent = costs.read(self.reports / "costs.csv").sort_values("seconds", ascending=False)
        spent["item"] = [rows.model(item, self.called) for item in spent["item"]]
        titles = {name: listed.title for name, listed in self.tables.items()}
        sheets = []
        for title, frame, first in (("Cost by stage", costs.by_stage(spent), "stage"), ("Cost of each item", spent, "item")):
            minutes = {f"{key[: -len('seconds')]}minutes": frame[key] / 60 for key in frame if key.endswith("seconds")}
            frame = frame.assign(table=frame["table"].replace(titles), **minutes)
            columns = [
                *(Column(first, first, "{}"), Column("table", "of", "{}"), Column("items", "items", WHOLE)),
                *([Column("stage", "stage", "{}")] if first == "item" else []),
                *(Column("minutes", "minutes", "{:.2f}"), Column("longest", "the longest item", "{}")),
                *(Column("longest_minutes", "its minutes", "{:.2f}"), Column("words_per_second", "words/s in training", WHOLE)),
                Column("peak_memory_mb", "peak memory, MB", WHOLE),
            ]
            sheets.append(Sheet(title, laid_out(frame, columns), ["costs.csv"]))
        return sheets

    def minutes(self) -> dict[str, float]:
        """All items of a table together."""
        return (costs.read(self.reports / "costs.csv").groupby("table")["seconds"].sum() / 60).to_dict()


def _headed(frame: pd.DataFrame, columns: list[Column]) -> pd.DataFrame:
    """A view whose first column has the row's label and shape; columns without any figure are left out."""
    view = laid_out(frame, columns)
    view = view.loc[:, view.map(lambda cell: bool(cell.text)).any()]
    view.insert(0, "row", [Cell(*each) for each in zip(frame["row"], frame["shape"], strict=True)])
    return view


def _texts(lines: list[list[str]], heads: list[str]) -> pd.DataFrame:
    return pd.DataFrame(lines, columns=heads).map(Cell)


def _counts(verdicts: pd.Series) -> str:
    return " / ".join(str((verdicts == verdict).sum()) for verdict in VERDICTS)
