"""The tables of the page: views of the CSV files in reports/."""

from pathlib import Path

import pandas as pd

from pipeline.config.tables import KINDS, Table
from pipeline.reporting import claims_text, costs, table, views
from pipeline.reporting.views import VIEWS, laid_out, plain

EVALUATED = {"valid": "validation", "test": "test"}
CODES = VIEWS["words"] | {"kind": KINDS | {"one": ""}}


class PageTables:
    """The tables in the folder of reports. A file that is not there gives a table without lines.

    Attributes:
        reports: the folder.
        settings: of each table that the page shows, by name, from conf/table.
        rows: of each of these tables.
        trainings: of Table 1: the name of each one's table, by its label.
        columns: of CSV files that hold several trainings: each training's label, by the prefix of its columns.
    """

    def __init__(self, reports: Path, registry: dict[str, Table]):
        self.reports = reports
        self.settings = {name: entry for name, entry in registry.items() if entry.title and self.has(entry.csv)}
        self.rows = {name: table.read_rows(reports, entry) for name, entry in self.settings.items()}
        columns = {entry.column: name for name, entry in reversed(self.settings.items()) if entry.column}
        self.trainings = {self.settings[name].short: name for name in reversed(columns.values())}
        self.columns = {self.settings[name].column: label for label, name in self.trainings.items()}

    def has(self, file: str) -> bool:
        """Whether the folder of reports has a file."""
        return (self.reports / file).is_file()

    def read(self, file: str, **options) -> pd.DataFrame:
        """The lines of a CSV file, with codes replaced by words."""
        return pd.read_csv(self.reports / file, **options).replace(CODES) if self.has(file) else pd.DataFrame()

    def view(self, file: str, name: str = "") -> pd.DataFrame:
        """A CSV file as text, by the entry of views.yaml with this name, or with the file's."""
        return laid_out(self.read(file), VIEWS[name or Path(file).stem])

    def of(self, section: str) -> list[str]:
        """The names of the tables of a section of the page, but for Table 1's trainings."""
        names = [name for name, entry in self.settings.items() if (entry.section or name) == section]
        return [name for name in names if name not in self.trainings.values()]

    def table(self, name: str) -> pd.DataFrame:
        """A table as text, with the ratios to the first baseline of its setting `against`, ours and the paper's. Blank
        columns are left out."""
        settings = self.settings[name]
        rows = self.rows[name].drop(columns=["valid_raw_low", "test_raw_low"], errors="ignore")  # ratios have intervals
        view = {head: cell for head, cell in VIEWS["page"].items() if settings.same_corpus or "paper" not in head}
        for baseline in [entry for entry in settings.against if f"test_raw_to_{entry}" in rows][:1]:
            rows["paper_test_ratio"] = rows["paper_test"] / rows.loc[baseline, "paper_test"]
            head = f"test over {table.label(rows.loc[baseline])}"
            view |= {f"{head}|ours": f"test_raw_to_{baseline}:.3f", f"{head}|paper": "paper_test_ratio:.3f"}
        frame = laid_out(rows, view)
        return frame.loc[:, (frame != "").any()]

    def answer(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Table 1 in short, as text: the paper's perplexities and each training's. And how far ours are from the
        paper's: ours over it, less 1, in the same columns."""
        rows = self.read("answer.csv")
        view = {"row": "row"} | views.SIZES
        view |= {f"the paper|{word}": f"paper_{split}:g" for split, word in EVALUATED.items()}
        off = {}
        for column, label in self.columns.items() if len(rows) else ():
            for split, word in EVALUATED.items():
                view[f"ours, {label}|{word}"] = f"{column}_{split}_raw"
                off[f"ours, {label}|{word}"] = rows[f"{column}_{split}_raw_over"] - 1
        return laid_out(rows, view), pd.DataFrame(off)

    def comparisons(self) -> pd.DataFrame:
        """The comparisons that the paper makes in words."""
        return laid_out(self.read("comparisons.csv"), views.comparisons(self.columns))

    def claims(self) -> pd.DataFrame:
        """One line per claim of the papers, by raw figures: what it asks for, and our figure with its verdict for each
        training. Claims of tables beyond Table 1 stand in the column of the training that they share, the last."""
        lines: dict[tuple[str, str], dict[str, str]] = {}
        for name, settings in self.settings.items():
            group = "Table 1" if settings.column else settings.title
            training = settings.short if settings.column else [*self.trainings][-1]
            blank = dict.fromkeys(("figure", "added"), str)
            for kind in ("claims", "curves"):
                claims = self.read(f"claims/{name}/{kind}.csv", dtype=blank).fillna(dict.fromkeys(blank, ""))
                raw = claims.query("evaluation == 'raw'") if "evaluation" in claims else claims
                for line in (claims_text.VIEW_OF[kind](raw) if len(raw) else raw).to_dict("records"):
                    head = {"group": group, "the papers say": line["the paper says"], "paper|figure": line["paper"]}
                    row = lines.setdefault((group, line["the paper says"]), head | {"paper|asks": line["asks"]})
                    cells = {word: line[f"{word}, raw"] for word in EVALUATED.values() if f"{word}, raw" in line}
                    cells = cells or {"validation": f"{line['here']}, {line['holds']}"}
                    row |= {f"{training}|{split}": cell.replace(", one seed", "") for split, cell in cells.items()}
        return pd.DataFrame(lines.values()).fillna("")

    def costs(self) -> pd.DataFrame:
        """The cost of each stage of each table, the longest first."""
        items = costs.read(self.reports / "costs.csv")
        items = items.replace({"table": {name: settings.title for name, settings in self.settings.items()}})
        return laid_out(costs.by_stage(items), VIEWS["costs"])

    def benchmark(self, part: str) -> pd.DataFrame:
        """A part of the benchmark, as text."""
        return self.read(f"benchmark/{part}.csv").map(plain).replace("nan", "")
