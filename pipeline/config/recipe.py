"""conf/recipe: how a network is trained."""

from typing import Literal

from pydantic import Field, model_validator

from pipeline.config.base import Above0, Amount, Count, Fraction, Keys, Positive, Text


class Recipe(Keys):
    """conf/recipe/<name>.yaml, which says where each value comes from."""

    name: Text = Field(description="of the recipe")
    optimiser: Literal["adam", "sgd"] = Field(description="adam, or sgd: stochastic gradient descent, the paper's")
    schedule: Literal["linear", "cosine", "inverse"] = Field(
        description="of the rate: to zero over all epochs after a linear rise; inverse: the paper's"
    )
    rate: Above0 = Field(description="e_0")
    rate_decay: Amount = Field(description="r of the inverse schedule e_0 / (1 + r t), t in words")
    warmup: Fraction = Field(description="share of all steps over which the rate rises; the inverse schedule has none")
    beta1: Fraction = Field(description="Adam's")
    beta2: Fraction = Field(description="Adam's")
    epsilon: Amount = Field(description="Adam's, above zero")
    batch: Positive = Field(description="words an update")
    order: Literal["random", "text"] = Field(
        description="of an epoch's words: at random, or the text's; a family that reads streams has its own"
    )
    epochs: Positive = Field(description="passes over the training part")
    patience: Positive = Field(description="epochs without a better validation perplexity before training stops")
    samples: Count = Field(description="words in the sampled softmax beside the batch's targets; 0: full softmax")
    power: Amount = Field(description="of the unigram counts, for sampling")
    sampling: Literal["poisson", "importance"] = Field(description="how the words are drawn")
    bfloat16: bool = Field(description="products of output and deep layers in training, where the processor has it")
    dropout: Fraction = Field(description="of what enters the output layer, such as [x; a]")
    weight_decay: Amount = Field(description="lambda: for each word matrices lose e_t lambda of themselves")
    decayed: Literal["all", "visited"] = Field(
        description="all of C for each word, or of C the rows of the words in its context alone"
    )
    decay_steps: Positive = Field(description="updates after which their decay is done at once")
    features_std: Amount = Field(description="standard deviation of C at the start")
    frozen: bool = Field(description="C stays as it was at the start")
    weights_std: Amount = Field(description="of the other matrices, times the root of their fan-in")
    output_biases: Literal["unigram", "zero"] = Field(description="b at the start: log frequencies of words, or 0")
    stopping_tokens: Positive | None = Field(
        description="validation tokens that early stopping reads, in blocks spread evenly; all where it has no more "
        "than twice as many, or with null"
    )
    stopping_corrected: bool = Field(description="whether corrected for unseen words there, or raw")
    average: Fraction = Field(
        description="the last share of the steps, whose weights are averaged; 0: the last weights"
    )

    @model_validator(mode="after")
    def _adam_needs(self) -> "Recipe":
        if self.optimiser == "adam" and not self.epsilon:
            raise ValueError("recipe.epsilon: Adam needs one above zero")
        return self
