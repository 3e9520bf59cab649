"""Equation 1, and the gradient written by hand."""

import itertools

import pytest
import torch

from pipeline.data.errors import InputError
from pipeline.networks import scoring
from pipeline.networks.architecture import Architecture
from pipeline.networks.feedforward import Network
from pipeline.networks.softmax import log_partition

V = 40
SHAPES = [Architecture(3, 5, 4, True), Architecture(4, 6, 3, False), Architecture(2, 0, 4, True)]


def made(architecture: Architecture, spread: float = 1.0, dtype=torch.float64) -> Network:
    random = torch.Generator().manual_seed(1)
    network = Network(architecture, V).double()
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, 0, spread, generator=random)
    return network.to(dtype)


def batch(architecture: Architecture, size: int = 12):
    random = torch.Generator().manual_seed(2)
    context = torch.randint(V, (size, architecture.n - 1), generator=random)
    return context, torch.randint(V, (size,), generator=random)


def whole(parameter, rows, slope):
    """A gradient of touched rows in the place of all."""
    if rows is None:
        return slope
    return torch.zeros_like(parameter).index_copy_(0, rows, slope)


@pytest.mark.parametrize("n,h,m,direct", list(itertools.product((2, 5), (0, 7), (3,), (True, False))))
def test_parameter_count_is_the_papers(n, h, m, direct):
    if h == 0 and not direct:
        return
    architecture = Architecture(n, h, m, direct)
    formula = V * (1 + n * m + h) + h * (1 + (n - 1) * m) if direct else V * (1 + m + h) + h * (1 + (n - 1) * m)
    assert sum(p.numel() for p in Network(architecture, V).parameters()) == formula


def test_forward_is_equation_1_written_out():
    network = made(SHAPES[0])
    (context, _) = batch(SHAPES[0], 1)
    x = torch.cat([network.C[word] for word in context[0]])
    y = network.b + network.W @ x + network.U @ torch.tanh(network.d + network.H @ x)
    assert torch.allclose(network(context)[0].exp(), y.exp() / y.exp().sum())


@pytest.mark.parametrize("architecture", SHAPES, ids=str)
def test_probabilities_sum_to_one(architecture):
    context, _ = batch(architecture)
    assert torch.allclose(made(architecture)(context).exp().sum(1), torch.ones(12, dtype=torch.float64))


@pytest.mark.parametrize("architecture", SHAPES, ids=str)
@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize("sampled", [False, True])
def test_gradient_equals_autograds(architecture, dropout, sampled):
    network = made(architecture)
    context, target = batch(architecture)
    candidates = torch.unique(torch.cat([target, torch.arange(0, V, 3)])) if sampled else torch.arange(V)
    log_inclusion = -torch.rand(len(candidates), dtype=torch.float64) if sampled else torch.zeros(len(candidates))

    z = network.output_inputs(context)
    if dropout:
        random = torch.Generator().manual_seed(3)
        z = z * (torch.rand(z.shape, dtype=z.dtype, generator=random) >= dropout) / (1 - dropout)
    y = network.b[candidates] - log_inclusion + z @ network.WU[candidates].T
    loss = torch.nn.functional.cross_entropy(y, torch.searchsorted(candidates, target))
    loss.backward()

    found = network.gradient(context, target, candidates, log_inclusion, dropout, torch.Generator().manual_seed(3))
    own = log_inclusion[torch.searchsorted(candidates, target)].mean()  # the target's own logit counts whole
    assert torch.allclose(found.loss, loss - own, atol=1e-12)
    assert set(found.slopes) == {name for name, _ in network.named_parameters()}
    for name, parameter in network.named_parameters():
        assert torch.allclose(whole(parameter, *found.slopes[name]), parameter.grad, atol=1e-12), name


@pytest.mark.parametrize("architecture", SHAPES, ids=str)
@pytest.mark.parametrize("spread", [0.1, 40.0])  # 40: logits far outside what exp in float32 holds
def test_exact_scoring_equals_forward(architecture, spread, monkeypatch):
    monkeypatch.setattr(scoring, "BATCH", 5)
    network = made(architecture, spread, torch.float32)
    context, target = batch(architecture)
    exact = made(architecture, spread)(context).gather(1, target[:, None]).squeeze(1).detach()
    scored = scoring.log_probabilities(network, context.numpy(), target.numpy())
    assert torch.allclose(torch.tensor(scored).double(), exact, rtol=1e-4, atol=1e-4)
    z = network.output_inputs(context).detach()
    expected = torch.logsumexp(torch.addmm(network.b, z, network.WU.T), 1)
    assert torch.allclose(log_partition(z, network.WU, network.b, block=7), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ((1, 5, 4, True), r"model\.n=1"),
        ((3, -1, 4, True), r"model\.h=-1"),
        ((3, 5, 0, True), r"model\.m=0"),
        ((3, 0, 4, False), r"model\.h=0 with model\.direct=false"),
        ((3, 5, 4, True, "transformer"), r"model\.family='transformer'"),
        ((3, 5, 4, True, "energy"), r"model\.direct=true"),
        ((3, 5, 4, True, "feedforward", True), r"model\.indexed=true"),
    ],
)
def test_impossible_architectures_are_named(wrong, says):
    with pytest.raises(InputError, match=says):
        Architecture(*wrong)
