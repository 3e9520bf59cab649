"""conf/cluster.yaml."""

from pydantic import Field

from pipeline.config.base import Above0, Int, Named, OnCorpus, Positive, Seed


class Cluster(Named, OnCorpus):
    """conf/cluster.yaml."""

    classes: Int = Field(ge=2, description="how many")
    tolerance: Above0 = Field(description="of the log-likelihood a word: a pass that gains less is the last")
    passes: Positive = Field(description="at most so many")
    thorough: bool = Field(description="annealing first")
    annealing: Positive = Field(description="thorough: its passes")
    temperature: Above0 = Field(description="thorough: at the start, in nats of the whole likelihood; falls to zero")
    seed: Seed
