"""Equation 1, its loss and its gradient."""

import numpy as np
import pytest
import torch
from conftest import architecture as shape
from conftest import drawn

from pipeline.config.network import Architecture
from pipeline.core.families.feedforward import FeedforwardNetwork
from pipeline.core.networks import base, softmax
from pipeline.core.networks.softmax import log_partition

V = 40
SHAPES = [shape(3, 5, 4, True), shape(4, 6, 3, False), shape(2, 0, 4, True)]


def made(architecture: Architecture, spread: float = 1.0, dtype=torch.float64) -> FeedforwardNetwork:
    return drawn(FeedforwardNetwork(architecture, V).double(), spread).to(dtype)


def batch(architecture: Architecture, size: int = 12):
    random = torch.Generator().manual_seed(2)
    context = torch.randint(V, (size, architecture.n - 1), generator=random)
    return context, torch.randint(V, (size,), generator=random)


def candidates_of(target, sampled):
    """Some words with the targets among them, and a logarithm of their probabilities; or all."""
    if not sampled:
        return None, None
    candidates = torch.unique(torch.cat([target, torch.arange(0, V, 3)]))
    return candidates, -torch.rand(len(candidates), dtype=torch.float64, generator=torch.Generator().manual_seed(4))


def assert_gradient_is_the_slope(network, loss):
    """By differences: a small step along any direction changes the loss as the gradient says."""
    network.zero_grad()
    torch.manual_seed(3)
    loss().backward()
    slopes = {name: parameter.grad.to_dense().clone() for name, parameter in network.named_parameters()}
    for name, parameter in network.named_parameters():
        step = 1e-5 * torch.randn_like(parameter)
        ends = []
        for sign in (1, -2, 1):  # above, below, and back
            with torch.no_grad():
                parameter += sign * step
            torch.manual_seed(3)
            ends.append(loss().item())
        assert ends[0] - ends[1] == pytest.approx(2 * (slopes[name] * step).sum().item(), rel=1e-4, abs=1e-12), name


@pytest.mark.parametrize(("h", "direct"), [(0, True), (7, True), (7, False)])
@pytest.mark.parametrize("n", [2, 5])
def test_parameter_count_is_the_papers(n, h, direct):
    m = 3
    formula = V * (1 + n * m + h) + h * (1 + (n - 1) * m) if direct else V * (1 + m + h) + h * (1 + (n - 1) * m)
    assert sum(p.numel() for p in FeedforwardNetwork(shape(n, h, m, direct), V).parameters()) == formula


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_forward_is_equation_1_written_out(activation):
    network = made(SHAPES[0].model_copy(update={"activation": activation}))
    (context, _) = batch(SHAPES[0], 1)
    x = torch.cat([network.C[word] for word in context[0]])
    y = network.b + network.W @ x + network.U @ getattr(torch, activation)(network.d + network.H @ x)
    assert torch.allclose(network(context)[0], y)
    assert torch.allclose(network(context, torch.tensor([3, 0, 7]))[0], y[[3, 0, 7]])
    assert torch.allclose(network.distribution(context)[0].exp(), y.exp() / y.exp().sum())


@pytest.mark.parametrize("architecture", SHAPES, ids=str)
def test_dropout_is_of_the_output_layers_inputs_and_of_training_alone(architecture):
    network = made(architecture)
    context, target = batch(architecture, 500)
    z = network.eval().output_inputs(context)
    network.dropout.p = 0.25
    assert torch.equal(network.output_inputs(context), z)
    dropped = network.train().output_inputs(context)
    kept = dropped != 0
    assert torch.allclose(dropped[kept], (z / 0.75)[kept]) and kept.double().mean() == pytest.approx(0.75, abs=0.05)
    assert_gradient_is_the_slope(network, lambda: network.loss(context, target))


@pytest.mark.parametrize("architecture", SHAPES, ids=str)
@pytest.mark.parametrize("spread", [0.1, 40.0])  # 40: logits far outside what exp in float32 holds
def test_exact_scoring_equals_forward(architecture, spread, monkeypatch):
    monkeypatch.setattr(base, "BATCH", 5)
    network = made(architecture, spread, torch.float32)
    context, target = batch(architecture)
    exact = made(architecture, spread).distribution(context).gather(1, target[:, None]).squeeze(1).detach()
    scored = base.score(network, context.numpy(), target.numpy())
    y = network(context).detach()
    precision = 3e-7 * (np.log(V) + float(y.abs().max()))  # what float32 has of the scores
    assert scored == pytest.approx(exact.numpy(), rel=1e-4, abs=precision)
    z = network.output_inputs(context).detach()
    assert log_partition(z, network.WU, network.b, block=7) == pytest.approx(torch.logsumexp(y, 1), abs=precision)


def test_scoring_rounds_the_products_of_infrequent_words(monkeypatch):
    """The words of the first block stay exact, so where they have nearly all of the sum, it hardly changes."""
    monkeypatch.setattr(softmax, "FREQUENT", 8)
    random = torch.Generator().manual_seed(0)
    z, weight = torch.randn(50, 20, generator=random), torch.randn(40, 20, generator=random)
    bias = torch.cat([torch.full((8,), 30.0), torch.zeros(32)])
    for frequent, least, most in ((bias, 0, 1e-6), (bias.flip(0), 1e-4, 0.1)):
        exact, rounded = (log_partition(z, weight, frequent, rounded, block=8) for rounded in (False, True))
        assert least <= float((rounded - exact).abs().mean()) < most


def test_bfloat16_rounds_the_products_of_training_and_nothing_else():
    """An error of 2^-8 of a factor, in scores and gradient; scoring stays as it is."""
    architecture = SHAPES[0]
    exact, rounded = (made(architecture, 0.5, torch.float32) for _ in range(2))
    rounded.bfloat16 = True
    context, target = batch(architecture)
    assert torch.equal(exact.eval()(context), rounded.eval()(context))
    candidates = candidates_of(target, sampled=True)
    words, correction = candidates[0], candidates[1].float()
    gradients = []
    for network in (exact, rounded):
        network.train().loss(context, target, words, correction).backward()
        gradients.append(torch.cat([parameter.grad.flatten() for parameter in network.parameters()]))
    y, near = exact(context, words), rounded(context, words)
    assert near.dtype == torch.float32
    assert 1e-4 < (y - near).abs().max() < 2**-7 * y.abs().max()
    assert 1e-4 < (gradients[0] - gradients[1]).norm() / gradients[0].norm() < 2**-6
