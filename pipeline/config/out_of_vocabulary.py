"""conf/out_of_vocabulary.yaml."""

from pydantic import Field

from pipeline.config.base import OnNetwork, OutFile


class OutOfVocabulary(OnNetwork):
    """conf/out_of_vocabulary.yaml."""

    csv: OutFile = Field(description="a file for the table of perplexities")
