"""The registry of tables: conf/table/<name>.yaml says what stands in a table, what the paper prints of it, and where
the report and the page show it. The stages of a dvc.yaml make what stands there."""

from dataclasses import dataclass, field
from pathlib import Path

import yaml

from pipeline.data.corpus import SPLITS
from pipeline.data.errors import InputError
from pipeline.data.predictions import folder_of

KINDS = {"one": "one model", "several": "several models, averaged or mixed", "adapts": "learns from the text it reads"}


@dataclass
class Mixed:
    """Each of the networks, mixed in each of the ways, is a row <network>-<way>."""

    networks: list[str]  # of this table, or of one in whose place they are found
    ways: list[str]  # files of conf/mix
    stage: str = "mix"  # that makes them


@dataclass
class Row:
    """What is known of a row beside its arrays: what the paper prints, and its place among models of other years."""

    row: str = ""  # its label
    train: float | None = None  # its perplexity on training, where the paper prints one
    valid: float | None = None  # on validation
    test: float | None = None  # on test
    year: int | None = None  # of the paper that the model is from; without one it is not in the timeline
    source: str = ""  # that paper's authors
    kind: str = "one"  # of model in the timeline: one; several, averaged or mixed; adapts to the text it reads
    point: str = ""  # its name in the timeline, if another table's row has its own
    step: str = ""  # in the timeline, the step of the way from the first to the best that ends here, in words

    def __post_init__(self):
        if self.kind not in KINDS:
            raise InputError(f"table.rows: kind={self.kind!r}: choose one of {', '.join(KINDS)}")


@dataclass
class Table:
    """conf/table/<name>.yaml."""

    seeds: list[int]  # of each network that is trained, and of its mixtures; all else has seed 0
    models: dict[str, list[str]]  # by the stage that makes them; the stages whose names begin with `train` have seeds
    mix: Mixed
    also: list[str]  # models of other tables that stand here too
    rows: dict[str, Row]  # what the paper has, in its order
    yardsticks: list[str]  # rows to which the others are compared by ratio; the first stands in the README
    same_corpus: bool  # as the paper's, so that perplexities compare; if not, ratios to the yardsticks alone do
    predictions: list[str]  # where the models are; the first folder that has one
    dvc: str  # the file with the stages
    clusterings: list[int]  # numbers of classes for the class n-grams
    training: str  # whose procedure trained the networks, in words
    note: str = ""  # what to know before reading it
    title: str = ""  # on the page; empty: the page does not show it
    short: str = ""  # the training in a word or two, where several tables stand side by side
    csv: str = ""  # the report's file below reports/; what belongs to it lies beside
    section: str = ""  # of the page, by its id; one that the page has no text for becomes a section of its own
    place: int = 100  # among the page's tables, from the lowest on
    target: str = ""  # of make, for the page's list of what to run
    against: list[str] = field(default_factory=list)  # those of the yardsticks whose ratios the page shows

    def __post_init__(self):
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise InputError(f"table.seeds={self.seeds}: give one seed or more, none twice")
        if len(set(self.yardsticks)) < len(self.yardsticks):
            raise InputError(f"table.yardsticks={self.yardsticks}: give none twice")
        unknown = [name for name in [*self.rows, *self.yardsticks] if name not in self.names]
        if unknown:
            raise InputError(f"table: {', '.join(unknown)}: no stage of table.models makes it, and table.also lacks it")

    @property
    def names(self) -> dict[str, dict[int, str]]:
        """Each model, the paper's rows first; of each seed the stage that makes it."""
        file = "" if self.dvc == "dvc.yaml" else f"{self.dvc}:"
        stages: dict[str, dict[int, str]] = {}
        for stage, models in self.models.items():
            for name in models:
                seeded = {seed: f"{file}{stage}@{name}-{seed}" for seed in self.seeds}
                stages[name] = seeded if stage.startswith("train") else {0: f"{file}{stage}@{name}"}
        for name in (f"{network}-{way}" for network in self.mix.networks for way in self.mix.ways):
            stages[name] = {seed: f"{file}{self.mix.stage}@{name}-{seed}" for seed in self.seeds}
        stages |= {name: {0: ""} for name in self.also}
        return {name: stages[name] for name in [*(name for name in self.rows if name in stages), *stages]}

    def folders(self, name: str) -> list[Path]:
        """The folder of each seed of a model. Raises InputError, with the stage to run, where one is missing."""
        return [folder_of(f"{name}/{seed}", self.predictions, stage) for seed, stage in self.names[name].items()]

    def printed(self, name: str) -> bool:
        """Whether the paper prints a figure of it."""
        row = self.rows.get(name, Row())
        return any(getattr(row, split) is not None for split in SPLITS)


def read_registry(folder: Path) -> dict[str, Table]:
    """Every table of conf/table by its name, in the order of the page."""
    tables = {}
    for file in folder.glob("*.yaml"):
        values = _values(file)
        rows = {name: Row(**row) for name, row in values["rows"].items()}
        tables[file.stem] = Table(**(values | {"mix": Mixed(**values["mix"]), "rows": rows}))
    return dict(sorted(tables.items(), key=lambda item: (item[1].place, item[0])))


def _values(file: Path) -> dict:
    """A file's values over those of the files in its defaults list, as Hydra merges them."""
    values: dict = {}
    own = yaml.safe_load(file.read_text(encoding="utf-8"))
    for each in own.pop("defaults", ["_self_"]):
        values = _merged(values, own if each == "_self_" else _values(file.with_name(f"{each}.yaml")))
    return values


def _merged(under: dict, over: dict) -> dict:
    both = {key: _merged(under[key], over[key]) for key in under.keys() & over.keys() if isinstance(under[key], dict)}
    return under | over | both
