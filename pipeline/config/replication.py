"""conf/replication.yaml: how Table 1 by several trainings is compared with the paper's."""

from pydantic import Field

from pipeline.config.base import Keys, Text


class Comparison(Keys):
    """What the paper says in words about two models, or two groups of models."""

    says: Text = Field(description="in our words")
    better: list[Text] = Field(
        description="models of Table 1; of several the best on validation, unless pairs are meant"
    )
    than: list[Text] = Field(description="models of Table 1, as `better`")
    pairs: bool = Field(
        False, description="the geometric mean over pairs, the first of one list with the first of the other"
    )


class Control(Keys):
    """One change: rows of Table 1 in several tables."""

    tables: list[Text] = Field(description="tables of conf/table; a row shows where all of them have it")
    rows: list[Text] = Field(description="models of these tables")
