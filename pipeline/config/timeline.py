"""conf/timeline.yaml."""

from pydantic import Field

from pipeline.config.base import InFolder, Named, Stage, Text


class Timeline(Named, Stage):
    """conf/timeline.yaml."""

    of: list[Text] = Field(min_length=1, description="the tables whose rows with a year stand in it")
    baseline: Text = Field(description="the model over whose perplexity the ratios are")
    tables: InFolder = Field(description="the folder of the lists of tables")
    reports: InFolder = Field(description="the folder in which the stage report writes them")
