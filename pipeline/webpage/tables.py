"""The tables of the page: views of the CSV files in reports/, with models called as the paper calls them."""

import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from pipeline.config.tables import KINDS, Table
from pipeline.reporting import claims_text, costs, table, views
from pipeline.reporting.views import VIEWS, laid_out, plain

# What stands in the files, for readers who don't see these.
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
# What the paper, and Bengio and Senecal (2003), say of time.
SHARE = "Parameter-parallel training spends 1/15 of its time in communication"
FASTER = "Importance sampling trains a hundred times faster than the full softmax (Bengio and Senecal, 2003)"


class Tables:
    """What the reports' folder has; of a file that is not there, a table without lines."""

    def __init__(self, reports: Path, registry: dict[str, Table]):
        self.reports = reports
        self.listed = {name: each for name, each in registry.items() if each.title and self.there(each.csv)}
        self.rows = {name: self._rows(each) for name, each in self.listed.items()}
        self.sections: dict[str, list[str]] = {}  # of the page, each with its tables
        for name, each in self.listed.items():
            self.sections.setdefault(each.section or name, []).append(name)
        self.trainings = [
            name for name, each in self.listed.items() if each.column
        ]  # of Table 1, with a picture of each
        self.shorts = {self.listed[name].column: self.listed[name].short for name in self.trainings}
        self.called: dict[str, str] = {}  # each model, by the first table that has a label for it
        for rows in reversed(self.rows.values()):
            shared = rows["row"].duplicated(keep=False)
            labels = rows["row"].where(~shared, rows["row"] + ", " + rows["shape"])
            self.called |= labels[rows["row"] != rows.index].to_dict()

    def there(self, file: str) -> bool:
        """Whether the reports have a file."""
        return (self.reports / file).is_file()

    def read(self, file: str, **options) -> pd.DataFrame:
        """A CSV file's lines."""
        return pd.read_csv(self.reports / file, **options).replace(CODES) if self.there(file) else pd.DataFrame()

    def view(self, file: str, name: str = "") -> pd.DataFrame:
        """A CSV file as views.yaml has it, under the file's name or another."""
        return laid_out(self.read(file), VIEWS[name or Path(file).stem])

    def _rows(self, listed: Table) -> pd.DataFrame:
        """All rows of a table with their shapes, and of each yardstick NAME the paper's ratio to it, paper_to_NAME, and
        how far ours is above that, less_NAME."""
        rows = table.read_rows(self.reports, listed)
        for other in (other for other in listed.yardsticks if f"to_{other}" in rows):
            rows[f"paper_to_{other}"] = rows["paper_test"] / rows.loc[other, "paper_test"]
            rows[f"less_{other}"] = rows[f"to_{other}"] / rows[f"paper_to_{other}"] - 1
        return rows.assign(row=spelt_out(rows["row"]), shape=[shape(row) for row in rows.to_dict("records")])

    def table(self, name: str) -> pd.DataFrame:
        """A table of the registry, with ratios to some of its yardsticks, to the first of them beside the paper's."""
        listed = self.listed[name]
        view = {head: cell for head, cell in VIEWS["page"].items() if listed.same_corpus or "paper" not in head}
        for place, other in enumerate(listed.against):
            head = f"test over {self.called[other]}"
            view[head] = f"to_{other}:.3f"
            if place == 0 or not listed.same_corpus:
                view[f"{head}, paper"] = f"paper_to_{other}:.3f"
            if place == 0:
                view[f"{head}, difference"] = f"less_{other}:+.1%"
        shown = laid_out(self.rows[name], view)
        return shown.loc[:, (shown != "").any()]

    def files(self, name: str) -> list[str]:
        """The CSV files of a table of the registry."""
        csv = Path(self.listed[name].csv)
        return [str(csv.with_name(f"{file}.csv")) for file in (csv.stem, "extra", "intervals", f"{name}-ratios")]

    def seeds(self, name: str) -> str:
        """Of how many seeds a table's networks are."""
        count = self.rows[name]["seeds"].max() if name in self.rows else 0
        return "one seed" if count == 1 else f"{count} seeds"

    def replication(self, minutes: bool = False) -> pd.DataFrame:
        """Table 1 as printed and by each training; or the CPU minutes of each."""
        rows = self.read("replication.csv")
        rows["shape"] = [shape(row) for row in rows.to_dict("records")]
        view = {
            head: cell
            for head, cell in views.replication(self.shorts).items()
            if head not in ("row", "n", "c", "h", "m") and head.endswith("CPU minutes") == minutes
        }
        shown = laid_out(rows, {"row": "row (shape)"} | view)
        return shown[(shown != "").drop(columns="row").any(axis=1)]

    def answer(self) -> pd.DataFrame:
        """The rows of README's table."""
        return laid_out(self.read("answer.csv"), views.answer(self.shorts))

    def comparisons(self) -> pd.DataFrame:
        """What the paper compares in words."""
        return laid_out(self.read("comparisons.csv"), views.comparisons(self.shorts))

    def claims(self, name: str) -> Iterator[tuple[str, pd.DataFrame, str]]:
        """Title, view and file of what the stage claims left of a table: claims of each kind, then pairs that the
        papers do not compare."""
        for kind, title in TITLES.items():
            file, words = f"claims/{name}/{kind}.csv", ["figure", "added"]
            lines = self.read(file, dtype=dict.fromkeys(words, str)).fillna(dict.fromkeys(words, ""))
            if len(lines):
                shown = claims_text.VIEW_OF[kind](lines).astype(object).fillna("")
                shown = shown.replace(", one seed$", "", regex=True).rename(columns=RENAMED)
                for head, form in {"model": "{}", "compared with": "{}", "found here": "“{}”"}.items():
                    if head in shown:
                        shown[head] = [renamed(text, self.called, form) for text in shown[head]]
                yield title, shown, file

    def verdicts(self) -> pd.DataFrame:
        """How many claims of each table hold, of how many, and how many are open."""
        lines = []
        for name, listed in self.listed.items():
            if len(claims := self.read(f"claims/{name}/claims.csv")):
                held = claims.groupby(["split", "reading"], sort=False)["holds"].agg(counts)
                line = {"claims of": f"{listed.title}, {self.seeds(name)}"}
                line |= {", ".join(each): count for each, count in held.items()}
                curves = self.read(f"claims/{name}/curves.csv")
                lines.append(line | ({"curves, time": counts(curves["holds"])} if len(curves) else {}))
        if len(times := self.times()):
            held = times["ours"].str.rpartition(", ")[2]
            lines.append({"claims of": "Speed of training", "curves, time": counts(held)})
        return pd.DataFrame(lines).fillna("")

    def times(self) -> pd.DataFrame:
        """The claims about time, with our figures where `make bench` left them."""
        lines = []
        if len(runs := self.read("benchmark/parallel.csv")):
            runs = runs.query("softmax == 'full' and way == 'ParameterParallel' and processes > 1")
            for processes, ours in zip(runs["processes"], runs["share of time"], strict=True):
                what = f"share of the time, {processes} processes, full softmax"
                lines.append((SHARE, what, f"{1 / 15:.3g}", f"{ours:.3g}, {'yes' if ours <= 1 / 15 else 'no'}"))
        if len(runs := self.read("benchmark/sampling.csv", index_col=0)):
            ours = runs.loc["importance, 1,024 draws", "times faster than full"]
            what = "times faster, 1,024 draws, in batches"
            lines.append((FASTER, what, "100", f"{ours:.3g}, {'yes' if ours >= 100 else 'no'}"))
        return pd.DataFrame(lines, columns=["the paper says", "measured", "paper", "ours"])

    def out_of_vocabulary(self) -> tuple[pd.DataFrame, list[str]]:
        """Perplexity by ways to give features to words that training never shows, and the files, one a network."""
        files = [f"beyond/{file.name}" for file in sorted(self.reports.glob("beyond/out-of-vocabulary-*.csv"))]
        names = [Path(file).stem.removeprefix("out-of-vocabulary-") for file in files]
        parts = [
            self.read(file).assign(row=self.called.get(name, name)) for file, name in zip(files, names, strict=True)
        ]
        return laid_out(pd.concat([pd.DataFrame(), *parts]), VIEWS["out-of-vocabulary"]), files

    def costs(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """What each stage of each table took, and each item of theirs, the longest first."""
        items = costs.read(self.reports / "costs.csv").sort_values("seconds", ascending=False, kind="stable")
        items = items.replace({"table": {name: listed.title for name, listed in self.listed.items()}})
        items["item"] = [self._item(item) for item in items["item"]]
        return laid_out(costs.by_stage(items), VIEWS["costs"]), laid_out(items, VIEWS["costs"])

    def _item(self, item: str) -> str:
        """What the page calls an item of a stage, STAGE-MODEL or STAGE-MODEL-SEED; its name where it makes none."""
        name = item.partition("-")[2]
        network, _, seed = name.rpartition("-")
        return self.called.get(name) or (f"{self.called[network]}, seed {seed}" if network in self.called else item)

    def benchmark(self) -> list[dict]:
        """Each part of the benchmark: its title, its text in Markdown, its view and its file."""
        called = {
            name: label for name, label in self.called.items() if re.search(r"\d", name)
        }  # `linear` is a word, too
        parts = self.read("benchmark/parts.csv").to_dict("records")
        for part in parts:
            part["file"] = f"benchmark/{part['part']}.csv"
            part["view"] = self.read(part["file"]).map(lambda value: renamed(plain(value), called)).replace("nan", "")
            part["text"] = renamed(part["text"], called)
        return parts


def renamed(text: str, called: dict[str, str], form: str = "{}") -> str:
    """A text with models called as the page calls them; not in code, which a reader may want to type."""
    names = "|".join(re.escape(name) for name in sorted(called, key=len, reverse=True))
    pattern = rf"`[^`]*`|(?<![\w/.-])(?:{names})(?![\w/-])"
    return re.sub(pattern, lambda name: form.format(called[name[0]]) if name[0] in called else name[0], text)


def shape(row: dict) -> str:
    """A row's order, classes and sizes in words."""
    words = [f"{key}\u00a0{row[key]:.0f}" for key in ("n", "c", "h", "m") if pd.notna(row[key])]
    return ", ".join(words + [word for key, word in (("direct", "direct"), ("mix", "mixed")) if row.get(key) is True])


def spelt_out(labels: pd.Series) -> pd.Series:
    """Labels in which `the same` is said in full, since a sorted table has other rows above: it stands for the model
    whose name this one's continues, or else for the row before."""
    whole: dict[str, str] = {}
    for name, label in labels.items():
        if label.startswith("the same"):
            meant = next((other for other in whole if name.startswith(f"{other}-")), next(reversed(whole)))
            label = label.replace("the same", whole[meant], 1)
        whole[name] = label
    return pd.Series(whole)


def counts(verdicts: pd.Series) -> str:
    """How many claims hold, of how many, and how many are open."""
    held, still_open = ((verdicts == verdict).sum() for verdict in ("yes", "open"))
    return f"{held} of {len(verdicts)}" + (f", {still_open} open" if still_open else "")
