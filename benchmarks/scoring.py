"""Exact scoring against the bare matrix products that it consists of: what the softmax adds to them."""

import inspect
import time

import numpy as np
import pandas as pd
import torch

from benchmarks import setting
from pipeline.core.families.feedforward import FeedforwardNetwork
from pipeline.core.networks import softmax
from pipeline.core.networks.base import BATCH, score

TOKENS = 20_480
BLOCK = inspect.signature(softmax.log_partition).parameters["block"].default  # words of one product
REPEATS = 7


def products(network: FeedforwardNetwork, z: torch.Tensor) -> None:
    """[x; a] by WU, block after block, into one place: the multiplications of exact scoring and nothing else."""
    y = torch.empty(BATCH, BLOCK)
    for part in z.split(BATCH):
        for words in network.WU.split(BLOCK):
            torch.mm(part, words.T, out=y[: len(part), : len(words)])


@torch.no_grad()
def run() -> pd.DataFrame:
    """A line a model: microseconds a word on one thread, median of turns."""
    corpus, lines = setting.ids(), []
    for model in ("mlp1", "mlp9"):
        trainer = setting.trainer(setting.architecture(model), setting.recipe(), corpus)
        network = trainer.network
        context, target = trainer.batches.at(torch.arange(TOKENS))
        z = network.output_inputs(context)
        seconds = {"scoring": [], "product": []}
        for _ in range(REPEATS):
            start = time.perf_counter()
            score(network, context.numpy(), target.numpy())
            between = time.perf_counter()
            products(network, z)
            seconds["scoring"].append(between - start)
            seconds["product"].append(time.perf_counter() - between)
        median = {name: np.median(values) for name, values in seconds.items()}
        flop = 2 * TOKENS * network.WU.numel()
        lines.append(
            {
                "model": model,
                "scoring, µs a word": 1e6 * median["scoring"] / TOKENS,
                "bare product, µs a word": 1e6 * median["product"] / TOKENS,
                "bare product, GFLOP/s": flop / median["product"] / 1e9,
                "scoring reaches": median["product"] / median["scoring"],
            }
        )
    return pd.DataFrame(lines).set_index("model")
