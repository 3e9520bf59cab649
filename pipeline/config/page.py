"""conf/page.yaml."""

from pydantic import Field

from pipeline.config.base import InFolder, Stage, Text


class Page(Stage):
    """conf/page.yaml."""

    genres: list[Text] = Field(description="the models drawn genre by genre")
    grids: dict[str, Text] = Field(description="maps by n and h: title and file in `reports`")
    words: dict[str, Text] = Field(description="of pages what stands between two marks, which this one says too")
    prose: list[Text] = Field(description="pages between whose marks tables of `reports` are put")
    tables: InFolder = Field(description="the folder of the lists of tables")
    reports: InFolder = Field(description="the folder of tables and figures that is read")
