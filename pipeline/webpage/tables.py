"""The tables of the page: views of the CSV files in reports/, in which models have the paper's names."""

import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from pipeline.config.tables import KINDS, Table
from pipeline.reporting import claims_text, costs, table, views
from pipeline.reporting.views import VIEWS, laid_out, plain

# The words of the page for values and columns of the CSV files.
SPLIT_NAMES = {"valid": "validation", "train": "training"}
SCORED = {"after": "tokens after such a word", "itself": "such words themselves"}
CODES = {"split": SPLIT_NAMES, "what": SPLIT_NAMES, "scored": SCORED, "kind": KINDS | {"one": ""}}
RENAMED = {"better": "model", "than": "compared with", "other": "compared with", "here": "found here"}
TITLES = {
    "claims": "Claims about perplexity",
    "curves": "Claims about learning curves: validation perplexity, one seed, no interval",
    "incomparable": "Claims that can't be judged here",
    "exploratory": "What we found beyond the papers: no claim of theirs, and no verdict",
}
# Claims about time, of the paper and of Bengio and Senecal (2003).
SHARE = "Parameter-parallel training spends 1/15 of its time in communication"
FASTER = "Importance sampling trains a hundred times faster than the full softmax (Bengio and Senecal, 2003)"


class PageTables:
    """The tables in the folder of reports. A file that is not there gives a table without lines.

    Attributes:
        reports: the folder.
        settings: of each table that the page shows, by name, from conf/table.
        rows: of each of these tables.
        sections: of the page, each with the names of its tables.
        trainings: the tables that are trainings of Table 1; the page has a figure of each.
        short_names: of the trainings, by the prefix of their columns.
        labels: of models, each from the first table that has one.
    """

    def __init__(self, reports: Path, registry: dict[str, Table]):
        self.reports = reports
        self.settings = {name: entry for name, entry in registry.items() if entry.title and self.has(entry.csv)}
        self.rows = {name: self._rows(entry) for name, entry in self.settings.items()}
        self.sections: dict[str, list[str]] = {}
        for name, entry in self.settings.items():
            self.sections.setdefault(entry.section or name, []).append(name)
        self.trainings = [name for name, entry in self.settings.items() if entry.column]
        self.short_names = {self.settings[name].column: self.settings[name].short for name in self.trainings}
        self.labels: dict[str, str] = {}
        for rows in reversed(self.rows.values()):
            shared = rows["row"].duplicated(keep=False)
            labels = rows["row"].where(~shared, rows["row"] + ", " + rows["shape"])
            self.labels |= labels[rows["row"] != rows.index].to_dict()

    def has(self, file: str) -> bool:
        """Whether the folder of reports has a file."""
        return (self.reports / file).is_file()

    def read(self, file: str, **options) -> pd.DataFrame:
        """The lines of a CSV file, with codes replaced by words."""
        return pd.read_csv(self.reports / file, **options).replace(CODES) if self.has(file) else pd.DataFrame()

    def view(self, file: str, name: str = "") -> pd.DataFrame:
        """A CSV file as text, by the entry of views.yaml with this name, or with the file's."""
        return laid_out(self.read(file), VIEWS[name or Path(file).stem])

    def _rows(self, settings: Table) -> pd.DataFrame:
        """All rows of a table with their shapes. And for each baseline NAME: paper_test_to_NAME, the ratio to it by
        the paper's figures, and less_NAME, how far our ratio is above that."""
        rows = table.read_rows(self.reports, settings)
        for baseline in (name for name in settings.baselines if f"test_raw_to_{name}" in rows):
            rows[f"paper_test_to_{baseline}"] = rows["paper_test"] / rows.loc[baseline, "paper_test"]
            rows[f"less_{baseline}"] = rows[f"test_raw_to_{baseline}"] / rows[f"paper_test_to_{baseline}"] - 1
        return rows.assign(row=spelt_out(rows["row"]), shape=[shape(row) for row in rows.to_dict("records")])

    def table(self, name: str) -> pd.DataFrame:
        """A table as text, with ratios to the baselines of its setting `against`; the first ratio stands beside the
        paper's. Blank columns are left out."""
        settings = self.settings[name]
        view = {head: cell for head, cell in VIEWS["page"].items() if settings.same_corpus or "paper" not in head}
        for place, baseline in enumerate(settings.against):
            head = f"test over {self.labels[baseline]}"
            view[head] = f"test_raw_to_{baseline}:.3f"
            if place == 0 or not settings.same_corpus:
                view[f"{head}, paper"] = f"paper_test_to_{baseline}:.3f"
            if place == 0:
                view[f"{head}, difference"] = f"less_{baseline}:+.1%"
        frame = laid_out(self.rows[name], view)
        return frame.loc[:, (frame != "").any()]

    def files(self, name: str) -> list[str]:
        """The CSV files of a table."""
        csv = Path(self.settings[name].csv)
        return [str(csv.with_name(f"{file}.csv")) for file in (csv.stem, "extra", "intervals", f"{name}-ratios")]

    def seeds(self, name: str) -> str:
        """The number of seeds of a table's networks, in words."""
        count = self.rows[name]["seeds"].max() if name in self.rows else 0
        return "one seed" if count == 1 else f"{count} seeds"

    def replication(self, minutes: bool = False) -> pd.DataFrame:
        """Table 1 by the paper and by each training; with `minutes`, the CPU minutes of each training instead."""
        rows = self.read("replication.csv")
        rows["shape"] = [shape(row) for row in rows.to_dict("records")]
        view = {
            head: cell
            for head, cell in views.replication(self.short_names).items()
            if head not in ("row", "n", "c", "h", "m") and head.endswith("CPU minutes") == minutes
        }
        frame = laid_out(rows, {"row": "row (shape)"} | view)
        return frame[(frame != "").drop(columns="row").any(axis=1)]

    def answer(self) -> pd.DataFrame:
        """README's table."""
        return laid_out(self.read("answer.csv"), views.answer(self.short_names))

    def comparisons(self) -> pd.DataFrame:
        """The comparisons that the paper makes in words."""
        return laid_out(self.read("comparisons.csv"), views.comparisons(self.short_names))

    def claims(self, name: str) -> Iterator[tuple[str, pd.DataFrame, str]]:
        """Title, view and file of each table that the stage claims wrote for a table: claims of each kind, then pairs
        that the papers do not compare."""
        for kind, title in TITLES.items():
            file = f"claims/{name}/{kind}.csv"
            columns = ["figure", "added"]  # text, and blank where nothing is said
            lines = self.read(file, dtype=dict.fromkeys(columns, str)).fillna(dict.fromkeys(columns, ""))
            if len(lines):
                view = claims_text.VIEW_OF[kind](lines).astype(object).fillna("")
                view = view.replace(", one seed$", "", regex=True).rename(columns=RENAMED)
                for head, form in {"model": "{}", "compared with": "{}", "found here": "“{}”"}.items():
                    if head in view:
                        view[head] = [renamed(text, self.labels, form) for text in view[head]]
                yield title, view, file

    def verdicts(self) -> pd.DataFrame:
        """For each table: how many of its claims hold, how many it has, and how many are open."""
        lines = []
        for name, settings in self.settings.items():
            if len(claims := self.read(f"claims/{name}/claims.csv")):
                by_case = claims.groupby(["split", "evaluation"], sort=False)["holds"].agg(counts)
                line = {"claims of": f"{settings.title}, {self.seeds(name)}"}
                line |= {", ".join(case): text for case, text in by_case.items()}
                curves = self.read(f"claims/{name}/curves.csv")
                lines.append(line | ({"curves, time": counts(curves["holds"])} if len(curves) else {}))
        if len(times := self.times()):
            verdicts = times["ours"].str.rpartition(", ")[2]
            lines.append({"claims of": "Speed of training", "curves, time": counts(verdicts)})
        return pd.DataFrame(lines).fillna("")

    def times(self) -> pd.DataFrame:
        """The claims about time, with our figures from `make bench`; without its files, no lines."""
        lines = []
        if len(runs := self.read("benchmark/parallel.csv")):
            runs = runs.query("softmax == 'full' and way == 'ParameterParallel' and processes > 1")
            for processes, ours in zip(runs["processes"], runs["share of time"], strict=True):
                measure = f"share of the time, {processes} processes, full softmax"
                lines.append((SHARE, measure, f"{1 / 15:.3g}", f"{ours:.3g}, {'yes' if ours <= 1 / 15 else 'no'}"))
        if len(runs := self.read("benchmark/sampling.csv", index_col=0)):
            ours = runs.loc["importance, 1,024 draws", "times faster than full"]
            measure = "times faster, 1,024 draws, in batches"
            lines.append((FASTER, measure, "100", f"{ours:.3g}, {'yes' if ours >= 100 else 'no'}"))
        return pd.DataFrame(lines, columns=["the paper says", "measured", "paper", "ours"])

    def out_of_vocabulary(self) -> tuple[pd.DataFrame, list[str]]:
        """Perplexities with features for words that training never shows; and the CSV files, one per network."""
        files = [f"beyond/{file.name}" for file in sorted(self.reports.glob("beyond/out-of-vocabulary-*.csv"))]
        names = [Path(file).stem.removeprefix("out-of-vocabulary-") for file in files]
        parts = [
            self.read(file).assign(row=self.labels.get(name, name)) for file, name in zip(files, names, strict=True)
        ]
        return laid_out(pd.concat([pd.DataFrame(), *parts]), VIEWS["out-of-vocabulary"]), files

    def costs(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The cost of each stage of each table, and of each item of the stages, the longest first."""
        items = costs.read(self.reports / "costs.csv").sort_values("seconds", ascending=False, kind="stable")
        items = items.replace({"table": {name: settings.title for name, settings in self.settings.items()}})
        items["item"] = [self._item(item) for item in items["item"]]
        return laid_out(costs.by_stage(items), VIEWS["costs"]), laid_out(items, VIEWS["costs"])

    def _item(self, item: str) -> str:
        """The page's name for an item of a stage, STAGE-MODEL or STAGE-MODEL-SEED: its model's label, and the seed. An
        item without a labelled model keeps its name."""
        name = item.partition("-")[2]
        network, _, seed = name.rpartition("-")
        return self.labels.get(name) or (f"{self.labels[network]}, seed {seed}" if network in self.labels else item)

    def benchmark(self) -> list[dict]:
        """Each part of the benchmark: its title, its text in Markdown, its view and its file."""
        # Only names with a digit are replaced: `linear`, for example, is an ordinary word too.
        labels = {name: label for name, label in self.labels.items() if re.search(r"\d", name)}
        parts = self.read("benchmark/parts.csv").to_dict("records")
        for part in parts:
            part["file"] = f"benchmark/{part['part']}.csv"
            part["view"] = self.read(part["file"]).map(lambda value: renamed(plain(value), labels)).replace("nan", "")
            part["text"] = renamed(part["text"], labels)
        return parts


def renamed(text: str, labels: dict[str, str], form: str = "{}") -> str:
    """A text with the names of models replaced by their labels. Names in code stay, since a reader may want to type
    them."""
    names = "|".join(re.escape(name) for name in sorted(labels, key=len, reverse=True))
    pattern = rf"`[^`]*`|(?<![\w/.-])(?:{names})(?![\w/-])"
    return re.sub(pattern, lambda match: form.format(labels[match[0]]) if match[0] in labels else match[0], text)


def shape(row: dict) -> str:
    """A row's sizes in words, such as `n 5, h 50, m 60, direct`."""
    words = [f"{key}\u00a0{row[key]:.0f}" for key in ("n", "c", "h", "m") if pd.notna(row[key])]
    return ", ".join(words + [word for key, word in (("direct", "direct"), ("mix", "mixed")) if row.get(key) is True])


def spelt_out(labels: pd.Series) -> pd.Series:
    """The labels with `the same` replaced by the label that it refers to, because readers can sort the tables. It
    refers to the model with whose name this model's name begins, or else to the row before."""
    full_labels: dict[str, str] = {}
    for name, label in labels.items():
        if label.startswith("the same"):
            before = next(reversed(full_labels))
            model = next((earlier for earlier in full_labels if name.startswith(f"{earlier}-")), before)
            label = label.replace("the same", full_labels[model], 1)
        full_labels[name] = label
    return pd.Series(full_labels)


def counts(verdicts: pd.Series) -> str:
    """The number of claims that hold, of all claims, and of open ones, such as `3 of 8, 2 open`."""
    yes, still_open = ((verdicts == verdict).sum() for verdict in ("yes", "open"))
    return f"{yes} of {len(verdicts)}" + (f", {still_open} open" if still_open else "")
