"""The n-gram models of conf/ngrams.yaml and the mixtures of conf/mixtures.yaml."""

from typing import Literal

from pydantic import Field, model_validator

from pipeline.config.base import Above0, Amount, Count, Int, Keys, Text


class Ngram(Keys):
    """An entry of conf/ngrams.yaml over the values of conf/ngram.yaml, which stand for what a kind does not use."""

    kind: Literal["interpolated", "kneser_ney", "class", "cache", "arpa"] = Field(description="arpa: read from `path`")
    order: Int = Field(ge=1, lt=1000, description="n")
    tolerance: Above0 = Field(description="interpolated: EM ends when the mean log-likelihood rises by less")
    backoff: bool = Field(description="kneser_ney, class: the back-off form instead of the interpolated one")
    drop: bool = Field(description="kneser_ney, class: n-grams of order >= 3 seen once are left out")
    undefined: Literal["error", "fixed", "relative"] = Field(
        description="kneser_ney, class: where the counts leave discounts undefined: an error, fixed ones, or at order "
        "1 the relative frequencies, as SRILM"
    )
    classes: Count = Field(description="class: how many")
    added: Amount = Field(0.0, description="class: to how often each word comes in its class; SRILM adds 1")
    length: Count = Field(0, description="cache: words that it holds")
    path: Text = Field(description="arpa: a file that this or another tool wrote, .gz or not")

    @model_validator(mode="after")
    def _fit(self) -> "Ngram":
        if self.kind == "interpolated" and self.order != 3:
            raise ValueError(f"ngram.order={self.order}: deleted interpolation is the paper's trigram, order 3")
        if (self.kind == "class") != (self.classes > 0):
            raise ValueError(f"ngram.classes={self.classes}: a class model, and it alone, has classes")
        if (self.kind == "cache") != (self.length > 0) or (self.kind == "cache" and self.order > 2):
            raise ValueError(f"ngram.length={self.length}: a cache, and it alone, has one, and its order is 1 or 2")
        if (self.kind == "arpa") != bool(self.path):
            raise ValueError(f"ngram.path={self.path!r}: an arpa model, and it alone, has a file")
        return self


class Mix(Keys):
    """An entry of conf/mixtures.yaml over the values of conf/mix.yaml."""

    components: list[Text] = Field(min_length=1, description="models: <name>/<seed>")
    weights: list[Amount] = Field(description="one each, or none: learned on validation")
    by_frequency: bool = Field(description="learned for each bin of the context's frequency, as the trigram's")
    tolerance: Above0 = Field(description="learned: EM ends when the mean log-likelihood rises by less")

    @model_validator(mode="after")
    def _fit(self) -> "Mix":
        if len(self.weights) not in (0, len(self.components)):
            raise ValueError(
                f"mix.weights: {len(self.components)} components, {len(self.weights)} weights; give one each or none"
            )
        if self.weights and self.by_frequency:
            raise ValueError("mix.weights: weights by bin are learned; give none with mix.by_frequency=true")
        if self.weights and abs(sum(self.weights) - 1) > 1e-9:
            raise ValueError(f"mix.weights={self.weights}: must sum to 1")
        return self
