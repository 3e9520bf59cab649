"""The exact perplexity of the training part, from a sample: scoring all of it takes longer than training."""

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
    rounded: bool = False,
    progress: Callable[[int], object] = lambda words: None,
) -> dict[str, float]:
    """The perplexity of `tokens` tokens (at least BLOCKS) of the training part, `train_raw`, and its standard error,
    `train_raw_se`; no standard error where all tokens are read.

    The tokens are those of evenly spaced blocks. Words of a block depend on each other, blocks hardly do. So the
    standard error is that of the mean over blocks, with the correction for a finite population. model, vocabulary,
    mark: as in training/train.py; weights: of the trained network; rounded: see Network; progress: called with the
    number of words done since the last call.
    """
    network = registry.build(model, vocabulary)
    network.load_state_dict(weights, assign=True)  # on their device
    network.rounded = rounded
    places = stopping_places(len(train), tokens)
    nats = -network.score(train, train[:0], mark, places, progress).astype(np.float64)
    perplexity = math.exp(nats.mean())
    if len(places) == len(train):
        return {"train_raw": perplexity}
    blocks = nats.reshape(max(BLOCKS, tokens // BLOCK), -1).mean(1)
    unread = 1 - len(places) / len(train)
    error = perplexity * float(blocks.std(ddof=1)) * (unread / len(blocks)) ** 0.5
    return {"train_raw": perplexity, "train_raw_se": error}
