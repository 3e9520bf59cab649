"""conf/table: the tables. The file of a table lists its models and how they are made, the paper's figures for each row,
and where the report and the page show the table."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError, model_validator

from pipeline.config import groups
from pipeline.config.base import Count, Keys, Text
from pipeline.core.common.errors import InputError
from pipeline.core.common.stream import SPLITS

KINDS = {"one": "one model", "several": "several models, averaged or mixed", "adapts": "test-time adaptation"}


class Mixed(Keys):
    """Mixtures: each network mixed by each mixing method is a row <network>-<method>."""

    networks: list[Text] = Field(description="of this table, or of one in whose folder they lie")
    ways: list[Text] = Field(description="mixing methods, entries of conf/mixtures.yaml")
    stage: Text = Field("mix", description="that makes them")


class Row(Keys):
    """What is known about a row beside its arrays: the paper's figures, and its place in the timeline."""

    row: str = Field("", description="its label")
    train: float | None = Field(None, description="its perplexity on training, where the paper prints one")
    valid: float | None = Field(None, description="on validation")
    test: float | None = Field(None, description="on test")
    year: int | None = Field(None, description="of the paper that the model is from; without one: not in the timeline")
    source: str = Field("", description="that paper's authors")
    kind: Literal["one", "several", "adapts"] = Field("one", description="of model, in the timeline")
    point: str = Field("", description="its name in the timeline, if another table's row has its own")
    search: list[Text] = Field([], description="grids of conf/searches.yaml that chose its settings, for the timeline")
    step: str = Field("", description="in the timeline, the step of the way from the first to the best that ends here")


class Table(Keys):
    """conf/table/<name>.yaml."""

    seeds: Annotated[list[Count], Field(min_length=1)] = Field(description="of each network, and of its mixtures")
    models: dict[str, list[Text]] = Field(
        description="by the stage that makes them; the stages whose names begin with `train` have seeds"
    )
    mix: Mixed = Field(Mixed(networks=[], ways=[]), description="networks, each mixed by each mixing method")
    shown: list[Text] = Field([], description="stages of `models` that another table's file has; they only stand here")
    also: list[Text] = Field([], description="models of other tables that stand here too")
    also_by_seed: list[Text] = Field([], description="the same, with this table's seeds")
    rows: dict[str, Row] = Field({}, description="what the paper has, in its order")
    baselines: list[Text] = Field([], description="rows to which the others are compared by ratio")
    same_corpus: bool = Field(
        False, description="as the paper's, so that perplexities compare; if not, ratios alone do"
    )
    continues: str = Field("", description="the table whose trainings go on in this one, and count in their minutes")
    predictions: list[Text] = Field(description="where the models are; the first folder that has one")
    clusterings: list[int] = Field([], description="numbers of classes for the class n-grams")
    note: str = Field("", description="what to know before reading it")
    title: str = Field("", description="on the page; empty: the page does not show it")
    short: str = Field("", description="the training in a word or two, where several tables stand side by side")
    column: str = Field("", description="a training of Table 1: the first word of its columns beside the paper's")
    csv: str = Field("", description="the report's file below reports/; what belongs to it lies beside")
    section: str = Field("", description="of the page, by its id; an unknown one becomes a section of its own")
    place: int = Field(100, description="among the page's tables, from the lowest on")
    target: str = Field("", description="of make, for the page's list of what to run")
    against: list[str] = Field([], description="those of the baselines whose ratios the page shows")

    dvc: str = Field("", description="the file with the stages that make it")
    item: str = Field("", description="what stands before a model in the names of these stages' items")

    @model_validator(mode="after")
    def _fit(self) -> "Table":
        for key in ("seeds", "baselines"):
            if len(set(getattr(self, key))) < len(getattr(self, key)):
                raise ValueError(f"table.{key}={getattr(self, key)}: give none twice")
        if unknown := [name for name in self.baselines if name not in self.names]:
            raise ValueError(self.missing(unknown))
        return self

    @staticmethod
    def missing(names: Sequence[str]) -> str:
        """The message for models that a table names and lacks."""
        return f"table: {', '.join(names)}: no stage of table.models makes it, and table.also lacks it"

    @property
    def names(self) -> dict[str, dict[int, str]]:
        """The models, the paper's rows first; for each model, by seed, the DVC stage that makes it."""
        file = "" if self.dvc == "dvc.yaml" else f"{self.dvc}:"
        stages: dict[str, dict[int, str]] = {}
        for stage, models in self.models.items():
            for name in models:
                place = f"{file}{stage}@{self.item}{name}"
                seeded = {seed: f"{place}-{seed}" for seed in self.seeds}
                stages[name] = (
                    seeded if stage.startswith(("train", "mix")) else {0: "" if stage in self.shown else place}
                )
        for name in (f"{network}-{way}" for network in self.mix.networks for way in self.mix.ways):
            stages[name] = {seed: f"{file}{self.mix.stage}@{self.item}{name}-{seed}" for seed in self.seeds}
        for name in self.also:  # seed 0, or all seeds if it is mixed here
            stages[name] = dict.fromkeys(self.seeds if name in self.mix.networks else [0], "")
        for name in self.also_by_seed:
            stages[name] = dict.fromkeys(self.seeds, "")
        return {name: stages[name] for name in [*(name for name in self.rows if name in stages), *stages]}

    def printed(self, name: str) -> bool:
        """Whether the paper prints a figure for this model."""
        row = self.rows.get(name, Row())
        return any(getattr(row, split) is not None for split in SPLITS)


class Tables(dict[str, Table]):
    """Tables by their names."""

    def __missing__(self, name: str) -> Table:
        raise InputError(f"no table {name}: choose from {', '.join(self)}")


def read_tables(folder: Path) -> Tables:
    """Every table of conf/table by its name, in the order of the page. Raises InputError with a line for each fault."""
    tables = {file.stem: _table(file) for file in folder.glob("*.yaml")}
    return Tables(sorted(tables.items(), key=lambda item: (item[1].place, item[0])))


def _table(file: Path) -> Table:
    try:
        table = Table.model_validate(groups.merged(file))
    except ValidationError as error:
        lines = (
            ": ".join([str(file), *filter(None, [".".join(map(str, fault["loc"]))]), fault["msg"]])
            for fault in error.errors()
        )
        raise InputError("\n".join(lines)) from None
    # A table that builds on another one has that one's rows too, of which it may lack some models.
    if unknown := [name for name in groups.loaded(file).get("rows") or {} if name not in table.names]:
        raise InputError(f"{file}: {table.missing(unknown)}")
    return table
