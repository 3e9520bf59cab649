"""conf/replication.yaml: how Table 1, made by several trainings, is compared with the paper's Table 1."""

from pydantic import Field

from pipeline.config.base import InFolder, Keys, Stage, Text


class Comparison(Keys):
    """A comparison of two models, or two groups of models, that the paper makes in words."""

    says: Text = Field(description="in our words")
    better: list[Text] = Field(
        description="models of Table 1; of several the best on validation, unless pairs are meant"
    )
    than: list[Text] = Field(description="models of Table 1, as `better`")
    pairs: bool = Field(
        False, description="the geometric mean over pairs, the first of one list with the first of the other"
    )


class Control(Keys):
    """One change, and the rows of Table 1 that show its effect."""

    before: Text = Field(description="a table of conf/table without the change")
    after: Text = Field(description="the table with it; the same one where other rows have the change")
    rows: list[Text] = Field(description="models without the change")
    changed: list[Text] = Field([], description="the models with it, in the same order; none: those of `rows`")


class Replication(Stage):
    """conf/replication.yaml."""

    trainings: list[Text] = Field(min_length=1, description="tables whose networks stand side by side")
    counted: list[Text] = Field(description="tables of which is counted how many rows agree with the paper's")
    answer: list[Text] = Field(description="rows of the short table")
    over: dict[str, Text] = Field(description="n-grams to which ratios are counted, by what their columns are called")
    comparisons: list[Comparison] = Field(description="that the paper makes in words")
    controls: dict[str, Control] = Field(description="what one change does, by what it is called")
    more: list[Text] = Field(description="rows that the paper does not print")
    tables: InFolder = Field(description="the folder of the lists of tables")
    reports: InFolder = Field(description="the folder in which the stage report writes them")
