"""The other families of networks: what training and scoring ask of them holds as for the feed-forward network."""

import pytest
import torch
from test_network import V, batch, whole

from pipeline.networks import energy
from pipeline.networks.architecture import Architecture
from pipeline.networks.families import build
from pipeline.networks.feedforward import Network as Feedforward

SHAPES = {
    "energy, v shared": Architecture(4, 5, 3, family="energy"),
    "energy, v indexed": Architecture(2, 5, 3, family="energy", indexed=True),
    "recurrent": Architecture(6, 5, 3, family="recurrent"),
}


@pytest.fixture(params=SHAPES)
def network(request):
    random = torch.Generator().manual_seed(1)
    made = build(SHAPES[request.param], V).double()
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, 0, 0.7, generator=random)
    return made


def test_the_name_of_a_family_finds_its_file():
    assert isinstance(build(Architecture(3, 5, 4, True), V), Feedforward)
    assert isinstance(build(SHAPES["recurrent"], V).unit, torch.nn.GRU)


def candidates_of(target, sampled):
    candidates = torch.unique(torch.cat([target, torch.arange(0, V, 3)])) if sampled else torch.arange(V)
    return candidates, -torch.rand(len(candidates), dtype=torch.float64) if sampled else torch.zeros(len(candidates))


@pytest.mark.parametrize("cells", [1, 100, 1 << 19])  # of one context at a time, a few, all
@pytest.mark.parametrize("sampled", [False, True])
def test_gradient_equals_autograds(network, sampled, cells, monkeypatch):
    monkeypatch.setattr(energy, "CELLS", cells)
    context, target = batch(network.architecture)
    candidates, log_inclusion = candidates_of(target, sampled)
    column = torch.searchsorted(candidates, target)
    torch.nn.functional.cross_entropy(network(context)[:, candidates] - log_inclusion, column).backward()
    found = network.gradient(context, target, candidates, log_inclusion)
    assert set(found.slopes) == {name for name, _ in network.named_parameters()}
    for name, parameter in network.named_parameters():
        assert torch.allclose(whole(parameter, *found.slopes[name]), parameter.grad, atol=1e-12), name


@pytest.mark.parametrize("cells", [1, 1 << 19])
def test_gradient_under_dropout_is_the_slope_of_the_loss(network, cells, monkeypatch):
    """By differences: a small step along any direction changes the loss as the gradient says."""
    monkeypatch.setattr(energy, "CELLS", cells)
    context, target = batch(network.architecture)

    def at():
        random = torch.Generator().manual_seed(3)
        return network.gradient(context, target, *candidates_of(target, False), 0.4, random)

    found = at()
    for name, parameter in network.named_parameters():
        slope, step = whole(parameter, *found.slopes[name]), 1e-5 * torch.randn_like(parameter)
        with torch.no_grad():
            parameter += step
            above = at().loss
            parameter -= 2 * step
            below = at().loss
            parameter += step
        assert (above - below).item() == pytest.approx(2 * (slope * step).sum().item(), rel=1e-4, abs=1e-12), name


def test_full_loss_is_that_of_forward(network):
    context, target = batch(network.architecture)
    loss = network.gradient(context, target, torch.arange(V), torch.zeros(V)).loss
    assert loss.item() == pytest.approx(torch.nn.functional.nll_loss(network(context), target).item())


@pytest.mark.parametrize("cells", [1, 100, 1 << 19])
def test_exact_scoring_equals_forward(network, cells, monkeypatch):
    monkeypatch.setattr(energy, "CELLS", cells)
    context, target = batch(network.architecture)
    expected = network(context).gather(1, target[:, None]).squeeze(1)
    assert torch.allclose(network.log_probabilities(context, target), expected)
    assert torch.allclose(network(context).exp().sum(1), torch.ones(12, dtype=torch.float64))


def test_the_energy_is_section_5_1_written_out():
    architecture = SHAPES["energy, v shared"]
    network = build(architecture, V).double()
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter)
    context, _ = batch(architecture, 1)
    scores = torch.stack(
        [
            network.v[0] @ torch.tanh(network.d + network.H @ torch.cat([network.C[w], *network.C[context[0]]]))
            + network.b[w]
            for w in range(V)
        ]
    )
    assert torch.allclose(network(context)[0], torch.log_softmax(scores, 0))
