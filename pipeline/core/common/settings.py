"""The settings that the core needs: the keys of each group of conf/, as attributes. pipeline/config declares the same
keys with their bounds and meanings (a test compares the two). Their values are in conf/."""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol


class DeepSettings(Protocol):
    """`deep` of conf/models.yaml; None: the family has no such key."""

    layers: int | None
    tied: bool | None
    heads: int | None
    input_dropout: float | None
    layer_dropout: float | None
    word_dropout: float | None
    weight_dropout: float | None
    state_penalty: float | None
    change_penalty: float | None
    locked: bool | None


class ModelSettings(Protocol):
    """An entry of conf/models.yaml."""

    n: int
    h: int
    m: int
    direct: bool
    activation: str
    family: str
    indexed: bool
    deep: DeepSettings | None


class RecipeSettings(Protocol):
    """A file of conf/recipe."""

    optimiser: Literal["adam", "sgd"]
    schedule: Literal["linear", "cosine", "inverse"]
    rate: float  # adam: the learning rate; sgd: the step per word, for a gradient summed over the batch
    rate_decay: float
    warmup: float
    beta1: float
    beta2: float
    epsilon: float
    batch: int
    order: Literal["random", "text"]
    epochs: int
    patience: int
    samples: int
    power: float
    sampling: Literal["poisson", "importance"]
    bfloat16: bool
    dropout: float
    weight_decay: float
    decayed: Literal["all", "visited"]
    decay_steps: int
    features_std: float
    frozen: bool
    weights_std: float
    output_biases: Literal["unigram", "zero"]
    stopping_tokens: int | None
    stopping_corrected: bool
    average: float


class NgramSettings(Protocol):
    """An entry of conf/ngrams.yaml."""

    kind: str
    order: int
    tolerance: float
    backoff: bool
    drop: bool
    undefined: Literal["error", "fixed", "relative"]
    classes: int
    added: float
    length: int
    path: str


class MixtureSettings(Protocol):
    """An entry of conf/mixtures.yaml."""

    components: Sequence[str]
    weights: Sequence[float]
    by_frequency: bool
    tolerance: float


class AdaptationSettings(Protocol):
    """A file of conf/adapt; None: its kind has no such key."""

    kind: Literal["cache", "dynamic"]
    size: int | None
    thetas: Sequence[float] | None
    length: int | None
    rates: Sequence[float] | None
    decays: Sequence[float] | None
    epsilon: float | None
    tried: int | None
    measured: int | None


class CorpusSettings(Protocol):
    """The part of conf/corpus by which texts become a stream of words."""

    raw: str
    files: str
    format: str
    encoding: str
    normalise: bool
    marks: Sequence[str]
    shuffle: int
    texts: int
    fold: bool
    drop_repeats: int
    rare: int
    size: int
    proper: bool
    vocabulary_from: Literal["stream", "train"]
    splits: Mapping[str, str]
    train: float
    valid: float
    test: float
    genres: Mapping[str, str]
    expected: Mapping[str, int] | None
    paper: Mapping[str, int]
