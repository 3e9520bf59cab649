"""Short lists (NIPS 2000): after each context the network scores only the words that the trigram finds likeliest.

P(w | h) = S(h) P_net(w | h, w in L(h)) for the words of the list L(h), with S(h) = sum_{v in L(h)} P_tri(v | h); every
other word keeps P_tri(w | h). For the energy network, whose exact score meets each word of the vocabulary with each
context.
"""

import numpy as np
import torch
from torch import Tensor

from pipeline.networks.energy import Network
from pipeline.ngrams import bins
from pipeline.ngrams.counts import NEVER
from pipeline.ngrams.interpolated import Interpolated


def distributions(trigram: Interpolated, context: np.ndarray) -> np.ndarray:
    """The probabilities (B, V) float32 of all words after each two words of context (B, 2), ids."""
    counts, words = trigram.counts, trigram.counts.vocabulary
    unigrams, bigrams, trigrams = counts.tables
    last = context[:, 1].astype(np.int64)
    pair = bigrams.find(context[:, 0].astype(np.int64) * words + last)
    a = trigram.weights.of(bins.bins_of(bigrams.count(pair), counts.tokens)).T.copy()
    p = np.zeros((len(context), words), dtype=np.float32)
    for k, place, table in ((3, pair, trigrams), (2, last, bigrams)):
        followers = np.where(place == NEVER, 0, counts.continuations(k - 1)[place])
        a[k - 1] += np.where(followers > 0, 0, a[k])  # p_k is p_{k-1} after a context that training never shows
        known = np.flatnonzero(followers)
        first, end = (np.searchsorted(table.keys, (place[known] + more) * words) for more in (0, 1))
        many = end - first
        row, at = np.repeat(known, many), np.arange(many.sum()) + np.repeat(end - np.cumsum(many), many)
        p[row, table.keys[at] % words] += a[k, row] * table.counts[at] / followers[row]
    return p + np.outer(a[1], unigrams.counts / counts.tokens).astype(np.float32) + np.float32(a[0] / words)[:, None]


def likeliest(trigram: Interpolated, context: np.ndarray, size: int) -> tuple[Tensor, Tensor]:
    """The words L (B, size) that a trigram finds likeliest after each context (B, 2), and their probabilities."""
    p, words = torch.topk(torch.from_numpy(distributions(trigram, context)), size, sorted=False)
    return words, p


@torch.no_grad()
def log_probabilities(
    network: Network, context: Tensor, target: Tensor, words: Tensor, p: Tensor, otherwise: Tensor
) -> Tensor:
    """Natural-log probability (B,) of each target (B,) after its context (B, n-1).

    words, p: as `likeliest` gives them; otherwise: the trigram's natural-log probability (B,) of the targets.
    """
    g, v, b = network.word_part()
    hidden = torch.tanh(network.context_part(context)[:, None] + g[words])
    y = (hidden * (v[words] if network.architecture.indexed else v)).sum(2) + b[words]
    within = torch.log_softmax(y, 1) + p.sum(1, keepdim=True).log()
    own = words == target[:, None]
    return torch.where(own, within, 0).sum(1).where(own.any(1), otherwise)
