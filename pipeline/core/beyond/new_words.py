"""Words outside the vocabulary (paper, section 5.1): a new word j after a context gets the features that the network
expects there, C(j) = sum_i C(i) P(i | context). From then on it is used in contexts like any other word."""

import copy

import torch
from torch import Tensor, nn

from pipeline.core.common.errors import InputError
from pipeline.core.networks.base import Network


@torch.no_grad()
def expected_features(network: Network, context: Tensor) -> Tensor:
    """sum_i C(i) P(i | context) for each context (B, n-1), (B, m)."""
    return network.distribution(context).exp() @ network.C[: len(network.b)]


def scores_new_words(network: Network) -> bool:
    """Whether a new word can be a candidate: the score of a pair must need only the word's features and bias, so v must
    be shared by all words."""
    return network.in_pairs and not network.architecture.indexed


def with_words(network: Network, features: Tensor, bias: Tensor | None = None) -> Network:
    """A copy of the network with R new words, whose ids start at |V| and whose features are `features` (R, m).

    New words are allowed in contexts. With bias (R,) they are also candidates; see scores_new_words. Raises InputError
    where the network can't score them as candidates.
    """
    larger = copy.deepcopy(network)
    larger.C = nn.Parameter(torch.cat([network.C.detach(), features]))
    if bias is not None:
        if not scores_new_words(network):
            raise InputError("a new word as candidate needs a network that scores pairs, with one v for all words")
        larger.b = nn.Parameter(torch.cat([network.b.detach(), bias]))
    return larger
