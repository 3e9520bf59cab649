"""conf/claims: what the papers claim about their results, and what we compare beyond that."""

from typing import Literal

from pydantic import Field, model_validator

from pipeline.config.base import Amount, Fraction, Keys, OnCorpus
from pipeline.config.tables import Table


class Statement(Keys):
    """A statement of a paper."""

    says: str = Field(description="in our words")
    where: str = Field(description="section or page")


class Claim(Statement):
    """A claim that the perplexity of one model is below that of another.

    Of several models, the claim is about the best one on validation: the best by the paper's figures for what the paper
    claims, and the best by our figures for whether the claim holds here.
    """

    better: list[str] = Field(description="models of the table")
    than: list[str] = Field(description="models of the table")
    kind: Literal["better", "as much", "at most"] = Field(
        "better", description="by anything at all; by what the paper's figures show or more; or less"
    )
    figure: str = Field("", description="that the paper puts it in")
    by_evaluation: bool = Field(
        False, description="of several models ours is the best by the evaluation that is judged, not by raw"
    )
    added: str = Field("", description="when, where that was after its figures were known")


class Epochs(Statement):
    """A claim that one network converges sooner than another.

    A training has converged at the first epoch near its best perplexity. A training whose last epoch still gains a
    tenth of that was cut off: it may have needed more epochs than it shows.
    """

    quick: str = Field(description="a network of the table")
    slow: str = Field(description="a network of the table")
    figure: str = Field(description="the paper's words")
    least: Amount = Field(description="at least this share more epochs: the wording's")
    near: Fraction = Field(0.01, description="within this share of the best validation perplexity")


class Falling(Statement):
    """A claim that a network does not overfit: validation perplexity falls to the last epoch."""

    name: str = Field(description="a network of the table")
    figure: str = Field("", description="the paper's words")


class Pair(Keys):
    """Two models that the papers do not compare."""

    says: str = Field(description="what is compared")
    better: str = Field(description="a model of the table")
    than: str = Field(description="a model of the table")


class Incomparable(Statement):
    """A statement of the paper that this project can't judge, and why."""

    why: str = Field(description="nothing here compares with it")


class Claims(OnCorpus):
    """conf/claims.yaml."""

    claims: list[Claim] = Field(description="what the papers say of perplexities")
    exploratory: list[Pair] = Field(description="what the papers do not compare")
    table: Table
    epochs: list[Epochs] = Field([], description="claims that one network needs fewer epochs than another")
    falling: list[Falling] = Field([], description="claims that a network does not overfit")
    incomparable: list[Incomparable] = Field([], description="what can't be judged here, and why")

    @model_validator(mode="after")
    def _once(self) -> "Claims":
        texts = [claim.says for claim in (*self.claims, *self.epochs, *self.falling, *self.exploratory)]
        if repeated := {text for text in texts if texts.count(text) > 1}:
            raise ValueError(f"claims: {' and '.join(map(repr, sorted(repeated)))} stands there twice")
        return self
