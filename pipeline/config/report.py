"""conf/report.yaml."""

from typing import Annotated

from pydantic import Field

from pipeline.config.base import OnCorpus, RunName, Text
from pipeline.config.tables import Table


class Report(OnCorpus):
    """conf/report.yaml."""

    name: Annotated[RunName, Field(pattern="^[^/]*$", description="what the table's files are called")]
    table: Table
    clusters: Text = Field(description="the classes.csv whose classes are shown; empty: none")
