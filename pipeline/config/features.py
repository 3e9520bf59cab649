"""conf/features.yaml."""

from pydantic import Field, model_validator

from pipeline.config.base import Named, OnCorpus, Positive


class Features(Named, OnCorpus):
    """conf/features.yaml."""

    m: Positive = Field(description="features a word")
    contexts: Positive = Field(description="how many of the most frequent contexts count, each a word at a place")
    reach: Positive = Field(description="a context is a word up to so many places before or behind")

    @model_validator(mode="after")
    def _fewer(self) -> "Features":
        if self.m >= self.contexts:
            raise ValueError(f"m={self.m} with contexts={self.contexts}: fewer features than contexts, please")
        return self
