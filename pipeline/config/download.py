"""conf/download.yaml."""

from pydantic import Field

from pipeline.config.base import OutFolder, Stage
from pipeline.config.corpus import Corpus


class Download(Stage):
    """conf/download.yaml."""

    corpus: Corpus
    out: OutFolder = Field(description="the folder that is written; what is there and right is kept")
