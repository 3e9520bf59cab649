"""How a network is trained: the values of a recipe."""

from dataclasses import dataclass

from pipeline.data.constraints import above_zero, at_least, check, one_of


@dataclass
class Recipe:
    """How a network is trained; conf/recipe says where each value comes from."""

    name: str
    optimiser: str = one_of("adam", "ascent")  # adam, or ascent: the paper's
    schedule: str = one_of("linear", "cosine", "inverse")  # to zero over all epochs after a linear rise, or the paper's
    rate: float = above_zero()  # e_0
    rate_decay: float = at_least(0)  # r of the inverse schedule e_0 / (1 + r t), t in words
    warmup: float = at_least(0, below=1)  # share of all steps over which the rate rises; the inverse schedule has none
    beta1: float = at_least(0, below=1)
    beta2: float = at_least(0, below=1)
    epsilon: float = above_zero(when=lambda recipe: recipe.optimiser == "adam")
    batch: int = above_zero()  # words
    epochs: int = above_zero()
    patience: int = above_zero()  # epochs without a better validation perplexity before training stops
    samples: int = at_least(0)  # words in the sampled softmax beside the batch's targets; 0: full softmax
    power: float = at_least(0)  # of the unigram counts, for sampling
    sampling: str = one_of("poisson", "importance")  # poisson or importance
    bfloat16: bool  # products of output and deep layers in training, where the processor has it; scoring is float32
    dropout: float = at_least(0, below=1)  # of what enters the output layer, such as [x; a]
    weight_decay: float = at_least(0)  # lambda: for each word matrices lose e_t lambda of themselves; biases don't
    features_std: float = at_least(0)  # standard deviation of C at the start
    frozen: bool  # C stays as it was at the start
    weights_std: float = at_least(0)  # of the other matrices, times the root of their fan-in
    output_biases: str = one_of("unigram", "zero")  # b at the start: logarithms of the words' frequencies, or nothing
    stopping_block: int = above_zero()  # early stopping reads one block of this many validation tokens ...
    stopping_every: int = above_zero()  # ... in so many,
    stopping_share: bool  # with the share for unseen words fitted there; false: the network's own probabilities
    average: float | None = at_least(
        0, below=1, default=None
    )  # the last share of the steps, whose weights are averaged

    def __post_init__(self):
        check(self, "recipe.")
