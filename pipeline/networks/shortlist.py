"""Short lists (NIPS 2000): after each context the network scores only the words that the trigram finds likeliest.

P(w | h) = S(h) P_net(w | h, w in L(h)) for the words of the list L(h), with S(h) = sum_{v in L(h)} P_tri(v | h); every
other word keeps P_tri(w | h). For the energy network, whose exact score meets each word of the vocabulary with each
context. pipeline/ngrams/likeliest.py makes the lists.
"""

import torch
from torch import Tensor

from pipeline.networks.energy import Network


@torch.no_grad()
def log_probabilities(
    network: Network, context: Tensor, target: Tensor, words: Tensor, p: Tensor, otherwise: Tensor
) -> Tensor:
    """Natural-log probability (B,) of each target (B,) after its context (B, n-1).

    words: L (B, size), and p, their probabilities by the trigram; otherwise: the trigram's natural-log probability (B,)
    of the targets.
    """
    g, v, b = network.word_part()
    y = network.scores(
        network.context_part(context), g[words], v[words] if network.architecture.indexed else v, b[words]
    )
    within = torch.log_softmax(y, 1) + p.sum(1, keepdim=True).log()
    own = words == target[:, None]
    return torch.where(own, within, 0).sum(1).where(own.any(1), otherwise)
