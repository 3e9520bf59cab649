"""The exact perplexity of the training part from some of it: scoring all of it takes longer than to train."""

import math
from collections.abc import Callable, Mapping

import numpy as np
from torch import Tensor

from pipeline.core.common.settings import ModelSettings
from pipeline.core.networks import registry
from pipeline.core.training.trainer import BLOCK, BLOCKS, stopping_places


def sampled(
    model: ModelSettings,
    weights: Mapping[str, Tensor],
    vocabulary: int,
    train: np.ndarray,
    mark: int,
    tokens: int,
    progress: Callable[[int], object] = lambda words: None,
) -> dict[str, float]:
    """The perplexity of so many tokens (at least BLOCKS) of the training part, `train`, and its standard error,
    `train_se`, none where all are read.

    They are those of blocks that are spread evenly. Words of one block are not independent of each other, blocks nearly
    are: the error is that of the mean over blocks, of a part of which so much is read. model, vocabulary, mark: as in
    training/train.py; weights: of the trained network; progress: called with the words done.
    """
    network = registry.build(model, vocabulary)
    network.load_state_dict(weights, assign=True)  # on their device
    places = stopping_places(len(train), tokens)
    nats = -network.score(train, train[:0], mark, places, progress).astype(np.float64)
    perplexity = math.exp(nats.mean())
    if len(places) == len(train):
        return {"train": perplexity}
    blocks = nats.reshape(max(BLOCKS, tokens // BLOCK), -1).mean(1)
    unread = 1 - len(places) / len(train)
    return {"train": perplexity, "train_se": perplexity * float(blocks.std(ddof=1)) * (unread / len(blocks)) ** 0.5}
