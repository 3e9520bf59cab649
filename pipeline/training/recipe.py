"""How a network is trained: the values of a recipe, and the learning rate at each step."""

import math
from dataclasses import dataclass

from pipeline.data.constraints import above_zero, at_least, check, one_of


@dataclass
class Recipe:
    """How a network is trained; conf/recipe says where each value comes from."""

    name: str
    optimiser: str = one_of("adam", "ascent")  # adam, or ascent: the paper's
    schedule: str = one_of(
        "cosine", "inverse"
    )  # cosine: to zero over all epochs, after a linear rise; inverse: the paper's e_0 / (1 + r t)
    rate: float = above_zero()  # e_0
    decay: float = at_least(0)  # r of the inverse schedule, t in words
    warmup: float = at_least(0, below=1)  # share of all steps over which the cosine's rate rises
    beta1: float = at_least(0, below=1)
    beta2: float = at_least(0, below=1)
    epsilon: float = above_zero(when=lambda recipe: recipe.optimiser == "adam")
    batch: int = above_zero()  # words
    epochs: int = above_zero()
    patience: int = above_zero()  # epochs without a better validation perplexity before training stops
    samples: int = at_least(0)  # words in the sampled softmax beside the batch's targets; 0: full softmax
    power: float = at_least(0)  # of the unigram counts, for sampling
    sampling: str = one_of("poisson", "importance")  # poisson or importance
    dropout: float = at_least(0, below=1)  # of what enters the output layer: [x; a]
    weight_decay: float = at_least(
        0
    )  # lambda: matrices, C too, lose e_t lambda of themselves for each word; biases don't
    features: float = at_least(0)  # standard deviation of C at the start
    frozen: bool  # C stays as it was at the start
    weights: float = at_least(0)  # of the other matrices, times the root of their fan-in
    stopping_block: int = above_zero()  # early stopping reads one block of this many validation tokens ...
    stopping_every: int = above_zero()  # ... in so many

    def __post_init__(self):
        check(self, "recipe.")


def rate_at(recipe: Recipe, step: int, steps: int) -> float:
    """The learning rate of a step (from 0) of so many."""
    if recipe.schedule == "inverse":
        return recipe.rate / (1 + recipe.decay * step * recipe.batch)
    rise = recipe.warmup * steps
    if step < rise:
        return recipe.rate * (step + 1) / (rise + 1)
    return recipe.rate * 0.5 * (1 + math.cos(math.pi * (step - rise) / (steps - rise)))
