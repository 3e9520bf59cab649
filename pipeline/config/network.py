"""conf/models.yaml: the architecture of a network, such as a row of the paper's table."""

from typing import Literal

from pydantic import Field, model_validator

from pipeline.config.base import Amount, Fraction, Int, Keys, Positive

LARGEST = 100_000  # n, h or m: a larger one is a mistake, and would need more memory than there is


class Deep(Keys):
    """Keys of networks with several layers, beside n, h and m. Each family has some of these keys and needs all that it
    has. The value of a dropout is the share that a training step leaves out."""

    layers: Positive | None = Field(None, description="one after the other")
    tied: bool | None = Field(None, description="the features C are the output layer's weights too")
    heads: Positive | None = Field(None, description="parts of a layer that each look at words of their own")
    input_dropout: Fraction | None = Field(None, description="of the features that enter")
    layer_dropout: Fraction | None = Field(None, description="between layers, or within them")
    word_dropout: Fraction | None = Field(None, description="of whole words of the vocabulary, where they are read")
    weight_dropout: Fraction | None = Field(None, description="of the weights from state to state")
    state_penalty: Amount | None = Field(None, description="alpha, of the last layer's squared states")
    change_penalty: Amount | None = Field(None, description="beta, of their squared changes from word to word")
    locked: bool | None = Field(None, description="what is left out stays the same along a stream")


class Architecture(Keys):
    """An entry of conf/models.yaml."""

    n: Int = Field(ge=2, le=LARGEST, description="order: n-1 words of context")
    h: Int = Field(ge=0, le=LARGEST, description="hidden units; 0 leaves the linear part alone")
    m: Int = Field(ge=1, le=LARGEST, description="features a word")
    direct: bool = Field(description="from features straight to the output")
    activation: Literal["tanh", "relu", "gelu", "silu", "sigmoid"] = Field(
        description="of the hidden units: tanh in the paper"
    )
    family: str = Field(description="a file of pipeline/core/families")
    indexed: bool = Field(description="v of each target word instead of one for all")
    deep: Deep | None = Field(description="of the families with several layers")

    @model_validator(mode="after")
    def _has_a_way(self) -> "Architecture":
        if self.h == 0 and not self.direct:
            raise ValueError(
                "model.h=0 with model.direct=false: no way from context to output; set h > 0 or direct=true"
            )
        return self
