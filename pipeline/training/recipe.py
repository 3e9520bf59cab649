"""How a network is trained: the values of a recipe, and the learning rate at each step."""

import math
from dataclasses import dataclass

from pipeline.data.errors import InputError, check_above_zero


@dataclass
class Recipe:
    """How a network is trained; conf/recipe says where each value comes from."""

    name: str
    optimiser: str  # adam, or ascent: the paper's
    schedule: str  # cosine: to zero over all epochs, after a linear rise; inverse: the paper's e_0 / (1 + r t)
    rate: float  # e_0
    decay: float  # r of the inverse schedule, t in words
    warmup: float  # share of all steps over which the cosine's rate rises
    beta1: float
    beta2: float
    epsilon: float
    batch: int  # words
    epochs: int
    patience: int  # epochs without a better validation perplexity before training stops
    samples: int  # words in the sampled softmax beside the batch's targets; 0: full softmax
    power: float  # of the unigram counts, for sampling
    sampling: str  # poisson or importance
    dropout: float  # of what enters the output layer: [x; a]
    weight_decay: float  # lambda: matrices, C too, lose e_t lambda of themselves for each word; biases don't
    features: float  # standard deviation of C at the start
    frozen: bool  # C stays as it was at the start
    weights: float  # of the other matrices, times the root of their fan-in
    stopping_block: int  # early stopping reads one block of this many validation tokens ...
    stopping_every: int  # ... in so many

    def __post_init__(self):
        choices = {
            "optimiser": ("adam", "ascent"),
            "schedule": ("cosine", "inverse"),
            "sampling": ("poisson", "importance"),
        }
        for key, known in choices.items():
            if getattr(self, key) not in known:
                raise InputError(f"recipe.{key}={getattr(self, key)!r}: choose one of {', '.join(known)}")
        above_zero = ["rate", "batch", "epochs", "patience", "stopping_block", "stopping_every"]
        check_above_zero(self, "recipe.", *above_zero, *(["epsilon"] if self.optimiser == "adam" else []))
        for key in ("decay", "weight_decay", "samples", "power", "features", "weights"):
            if not 0 <= getattr(self, key) < math.inf:
                raise InputError(f"recipe.{key}={getattr(self, key)}: must be zero or above")
        for key in ("dropout", "warmup", "beta1", "beta2"):
            if not 0 <= getattr(self, key) < 1:
                raise InputError(f"recipe.{key}={getattr(self, key)}: must be at least 0 and below 1")


def rate_at(recipe: Recipe, step: int, steps: int) -> float:
    """The learning rate of a step (from 0) of so many."""
    if recipe.schedule == "inverse":
        return recipe.rate / (1 + recipe.decay * step * recipe.batch)
    rise = recipe.warmup * steps
    if step < rise:
        return recipe.rate * (step + 1) / (rise + 1)
    return recipe.rate * 0.5 * (1 + math.cos(math.pi * (step - rise) / (steps - rise)))
