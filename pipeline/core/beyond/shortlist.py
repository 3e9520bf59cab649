"""Short lists (NIPS 2000): after each context the network scores only the words that the trigram finds likeliest.

P(w | h) = S(h) P_net(w | h, w in L(h)) for the words of the list L(h), with S(h) = sum_{v in L(h)} P_tri(v | h); every
other word keeps P_tri(w | h). For the energy network, whose exact softmax scores each word of the vocabulary together
with each context. likeliest.py makes the lists.
"""

import time

import numpy as np
import torch
from torch import Tensor

from pipeline.core.beyond.likeliest import likeliest
from pipeline.core.common.errors import Watcher
from pipeline.core.families.energy import EnergyNetwork
from pipeline.core.networks.base import contexts
from pipeline.core.ngrams.interpolated import Interpolated

BATCH = 128  # contexts at a time: their lists' hidden units stay in the cache


@torch.no_grad()
def log_probabilities(
    network: EnergyNetwork, context: Tensor, target: Tensor, words: Tensor, p: Tensor, otherwise: Tensor
) -> Tensor:
    """Natural-log probability (B,) of each target (B,) after its context (B, n-1).

    words: L (B, size); p: the trigram's probabilities (B, size) of these words; otherwise: the trigram's natural-log
    probability (B,) of the targets.
    """
    g, v, b = network.word_part()
    y = network.scores(
        network.context_part(context), g[words], v[words] if network.architecture.indexed else v, b[words]
    )
    within = torch.log_softmax(y, 1) + p.sum(1, keepdim=True).log()
    is_target = words == target[:, None]
    return torch.where(is_target, within, 0).sum(1).where(is_target.any(1), otherwise)


def score(
    network: EnergyNetwork,
    trigram: Interpolated,
    ids: np.ndarray,
    before: np.ndarray,
    mark: int,
    size: int,
    watch: Watcher,
) -> tuple[np.ndarray, dict[str, float]]:
    """Natural-log probability (T,) float32 of each token of a split, and the seconds that each part took.

    ids: (T,) a split; before: the words that precede it; mark: id of the text mark; size: words of a list.
    """
    otherwise = torch.from_numpy(trigram.log_probabilities(before, ids))
    shorter, longer = (contexts(ids, before, n, mark) for n in (trigram.order, network.architecture.n))
    scored = np.empty(len(ids), dtype=np.float32)
    seconds = {"trigram_seconds": 0.0, "network_seconds": 0.0}
    for first in range(0, len(ids), BATCH):
        part = slice(first, first + BATCH)
        context, target = (torch.from_numpy(array[part].astype(np.int64)) for array in (longer, ids))
        began = time.perf_counter()
        words, p = map(torch.from_numpy, likeliest(trigram, shorter[part], size))
        listed = time.perf_counter()
        scored[part] = log_probabilities(network, context, target, words, p, otherwise[part])
        seconds["trigram_seconds"] += listed - began
        seconds["network_seconds"] += time.perf_counter() - listed
        watch.advance(len(target))
    return scored, seconds
