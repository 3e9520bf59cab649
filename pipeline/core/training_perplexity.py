"""The exact perplexity of the training part from some of it: scoring all of it takes as long as training."""

import math
from collections.abc import Mapping

import numpy as np
from torch import Tensor

from pipeline.core.common.settings import Settings
from pipeline.core.networks import registry
from pipeline.core.training.trainer import BLOCK, BLOCKS, stopping_places


def sampled(
    model: Settings, weights: Mapping[str, Tensor], vocabulary: int, train: np.ndarray, mark: int, tokens: int
) -> dict[str, float]:
    """The perplexity of so many tokens (at least BLOCKS) of the training part, `train`, and its standard error,
    `train_se`, none where all are read.

    They are those of blocks that are spread evenly. Words of one block are not independent of each other, blocks nearly
    are: the error is that of the mean over blocks. model, vocabulary, mark: as in training/train.py; weights: of the
    trained network.
    """
    network = registry.build(model, vocabulary)
    network.load_state_dict(weights)
    places = stopping_places(len(train), tokens)
    nats = -network.score(train, train[:0], mark, places).astype(np.float64)
    perplexity = math.exp(nats.mean())
    if len(places) == len(train):
        return {"train": perplexity}
    blocks = nats.reshape(max(BLOCKS, tokens // BLOCK), -1).mean(1)
    return {"train": perplexity, "train_se": perplexity * float(blocks.std(ddof=1)) / len(blocks) ** 0.5}
