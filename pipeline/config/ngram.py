"""The n-gram models of conf/ngrams.yaml, and conf/ngram.yaml."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from pipeline.config.base import (
    NO_NUMBER,
    Above0,
    Amount,
    Count,
    InFolder,
    Int,
    Keys,
    Named,
    OnCorpus,
    OptionalFile,
    Text,
)


class NgramModel(Keys):
    """An entry of conf/ngrams.yaml, merged over conf/ngram.yaml, which has values for the keys that a kind does not
    use."""

    kind: Literal["interpolated", "kneser_ney", "classes", "cache", "arpa"] = Field(
        description="a file of pipeline/core/ngrams; arpa: read from `path`"
    )
    order: Int = Field(ge=1, lt=1000, description="n")
    tolerance: Above0 = Field(description="interpolated: EM ends when the mean log-likelihood rises by less")
    backoff: bool = Field(description="kneser_ney, classes: the back-off form instead of the interpolated one")
    drop: bool = Field(description="kneser_ney, classes: n-grams of order >= 3 seen once are left out")
    undefined: Literal["error", "fixed", "relative"] = Field(
        description="kneser_ney, classes: where the counts leave discounts undefined: an error, fixed ones, or at "
        "order 1 the relative frequencies, as SRILM"
    )
    classes: Count = Field(description="classes: how many")
    added: Amount = Field(0.0, description="classes: to how often each word comes in its class; SRILM adds 1")
    length: Count = Field(0, description="cache: words that it holds")
    path: Text = Field(description="arpa: a file that this or another tool wrote, .gz or not")

    @model_validator(mode="after")
    def _fit(self) -> "NgramModel":
        if self.kind == "interpolated" and self.order != 3:
            raise ValueError(f"ngram.order={self.order}: deleted interpolation is the paper's trigram, order 3")
        if (self.kind == "classes") != (self.classes > 0):
            raise ValueError(f"ngram.classes={self.classes}: a class model, and it alone, has classes")
        if (self.kind == "cache") != (self.length > 0) or (self.kind == "cache" and self.order > 2):
            raise ValueError(f"ngram.length={self.length}: a cache, and it alone, has one, and its order is 1 or 2")
        if (self.kind == "arpa") != bool(self.path):
            raise ValueError(f"ngram.path={self.path!r}: an arpa model, and it alone, has a file")
        return self


class Ngram(Named, OnCorpus):
    """conf/ngram.yaml."""

    ngram: NgramModel
    clusters: InFolder = Field(description="<classes>/classes.csv below it: what cluster wrote")
    export: OptionalFile = Field(
        description="an ARPA file to write beside the arrays, .gz or not; empty: none. KenLM gives the raw figures if "
        "it scores without <s> and </s>, with `. <p> <text>` before the first word"
    )
    memory: Annotated[Amount, NO_NUMBER] = Field(
        description="GB that the counts of Kneser-Ney may take; if they could need more, they lie in files beside "
        "`out`, and what is worked on takes 2 GB. 0: what is free"
    )
