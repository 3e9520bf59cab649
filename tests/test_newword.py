"""Words outside the vocabulary."""

import numpy as np
import pytest
import torch
from test_families import SHAPES
from test_network import V, batch

from pipeline.core import newword
from pipeline.core.networks.architecture import Architecture
from pipeline.core.networks.families import build

EVERY = SHAPES | {"feedforward": Architecture(4, 5, 3, True)}


def made(name):
    network = build(EVERY[name], V).double()
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, generator=torch.Generator().manual_seed(1))
    return network


@pytest.mark.parametrize("name", EVERY)
def test_features_are_those_that_the_network_expects(name):
    network = made(name)
    context, _ = batch(network.architecture)
    p = network(context).exp().detach().numpy()
    expected = np.array([sum(p[b, i] * network.C[i].detach().numpy() for i in range(V)) for b in range(len(p))])
    assert newword.expected_features(network, context).numpy() == pytest.approx(expected)


@pytest.mark.parametrize("name", EVERY)
def test_a_new_word_with_the_features_of_an_old_one_stands_for_it_in_contexts(name):
    network = made(name)
    context, target = batch(network.architecture)
    larger = newword.with_words(network, network.C[[3, 7]].detach())
    replaced = torch.where(context == 3, V, torch.where(context == 7, V + 1, context))
    assert (replaced != context).any()
    same = network.log_probabilities(context, target)
    assert torch.allclose(larger.log_probabilities(replaced, target), same)


def test_the_energy_network_gives_a_new_word_a_probability():
    """With the features and bias of an old word it is as likely as that one, and all still sum to one."""
    network = made("energy, v shared")
    context, _ = batch(network.architecture)
    larger = newword.with_words(network, network.C[[3]].detach(), network.b[[3]].detach())
    scored = torch.stack([larger.log_probabilities(context, torch.full((len(context),), i)) for i in range(V + 1)], 1)
    assert torch.allclose(scored[:, V], scored[:, 3])
    assert torch.allclose(scored.exp().sum(1), torch.ones(len(context), dtype=torch.float64))
    with pytest.raises(ValueError, match="needs the energy family"):
        newword.with_words(made("feedforward"), network.C[[3]].detach(), network.b[[3]].detach())
