"""What training and scoring ask of a network holds for each family."""

from functools import partial

import numpy as np
import pytest
import torch
from conftest import architecture, drawn
from test_network import V, assert_gradient_is_the_slope, batch, candidates_of

from pipeline.core.families import energy
from pipeline.core.networks import base
from pipeline.core.networks.registry import build, names

FORGETFUL = {"input_dropout": 0.2, "layer_dropout": 0.2, "word_dropout": 0.2, "weight_dropout": 0.2, "locked": True}
SHAPES = {
    "feedforward": architecture(4, 5, 3, True),
    "energy, v shared": architecture(4, 5, 3, family="energy"),
    "energy, v indexed": architecture(2, 5, 3, family="energy", indexed=True),
    "recurrent": architecture(6, 5, 3, family="recurrent"),
    "residual": architecture(4, 5, 3, direct=True, family="residual", layers=2),
    "lstm": architecture(4, 5, 3, family="lstm", layers=2, tied=True),
    "lstm, regularised": architecture(4, 5, 3, family="lstm", layers=2, tied=True, **FORGETFUL),
    "lstm, not tied": architecture(4, 5, 3, family="lstm"),
    "residual, not direct": architecture(4, 5, 3, family="residual"),
    "transformer": architecture(5, 5, 4, family="transformer", layers=2, heads=2, layer_dropout=0.2),
}
known = {shape.family for shape in SHAPES.values()}
SHAPES |= {name: architecture(4, 5, 3, family=name) for name in names() if name not in known}


def loss_of(network, words, correction):
    """The loss as a function of nothing: of a batch, from the beginning of streams."""
    context, target = batch_of(network)

    def loss():
        network.state = None
        return network.loss(context, target, words, correction)

    return loss


def batch_of(network):
    """Contexts, and the targets of each; of a family that reads in order one after each word."""
    context, target = batch(network.architecture)
    return context, torch.randint(V, context.shape).flatten() if network.in_order else target


@pytest.fixture(params=SHAPES)
def network(request):
    return drawn(build(SHAPES[request.param], V).double(), 0.7)


# A Transformer of four words at a time.
WIDE = SHAPES | {"transformer": architecture(9, 5, 4, family="transformer", layers=2, heads=2)}


@pytest.mark.parametrize("name", WIDE)
def test_what_is_scored_depends_on_the_words_before_alone(name):
    """At several places of a stream: the probabilities of all words there sum to 1, so the word itself is not among
    what is known; later words change nothing; and a window alone has the probability that it has among others."""
    network = drawn(build(WIDE[name], V), 0.7).eval()
    stream, mark = np.random.default_rng(0).integers(V, size=45).astype(np.int32), 1
    before, ids = stream[:15], stream[15:]
    scored = network.score(ids, before, mark)
    for place in (0, 7, 18, 26):
        later, total = ids.copy(), 0.0
        later[place + 1 :] = (later[place + 1 :] + 1) % V
        assert np.allclose(network.score(later, before, mark)[: place + 1], scored[: place + 1], atol=1e-5)
        for word in range(V):
            later[place] = word
            total += np.exp(float(network.score(later, before, mark)[place]))
        assert total == pytest.approx(1, abs=1e-4)
        if not network.in_order:  # a Transformer reads some words at a time, from wherever it begins
            assert network.score(ids, before, mark, np.array([place]))[0] == pytest.approx(scored[place], abs=1e-5)


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_the_gradient_is_the_slope_of_the_loss(network, sampled, dropout):
    network.sparse, network.dropout.p = sampled, dropout
    words, correction = candidates_of(torch.arange(V), sampled)
    assert_gradient_is_the_slope(network, loss_of(network, words, correction))
    for name, parameter in network.named_parameters():
        assert parameter.grad.is_sparse == (sampled and name in network.tables), name


@pytest.mark.parametrize("sampled", [False, True])
def test_the_loss_is_that_of_forward(network, sampled):
    """In a training step, which leaves out the same each time here."""
    context, target = batch_of(network)
    words, correction = candidates_of(target, sampled)

    def same(call, *given):
        network.state = None
        torch.manual_seed(0)
        return call(*given)

    own = same(network, context).gather(1, target[:, None])[:, 0]
    y = same(network, context) if words is None else same(network, context, words) - correction
    expected = (torch.logsumexp(y, 1) - own).mean().item()
    assert same(network.loss, context, target, words, correction).item() == pytest.approx(expected)


def test_dropout_of_the_energy_leaves_out_the_same_units_for_all_candidates():
    network = build(SHAPES["energy, v shared"], V)
    for parameter in network.parameters():
        torch.nn.init.ones_(parameter)
    network.dropout.p = 0.5
    context, _ = batch(network.architecture, 50)
    y = network(context)
    assert torch.allclose(y, y[:, :1].expand_as(y)) and len(y[:, 0].unique()) > 1


@pytest.mark.parametrize("cells", [1, 100, 1 << 19])  # of one context at a time, a few, all
def test_exact_scoring_equals_forward(network, cells, monkeypatch):
    monkeypatch.setattr(energy, "CELLS", cells)
    network.eval()
    context, target = batch_of(network)
    expected = network.distribution(context).gather(1, target[:, None]).squeeze(1)
    assert torch.allclose(network.log_probabilities(context, target), expected)
    assert torch.allclose(network.distribution(context).exp().sum(1), torch.ones(len(target), dtype=torch.float64))


@pytest.mark.parametrize("name", ["feedforward", "recurrent", "residual", "tied"])
def test_a_context_that_comes_back_is_computed_once_for_all_its_targets(name, monkeypatch):
    """In batches of two contexts, some of which have several targets."""
    monkeypatch.setattr(base, "BATCH", 2)
    network = drawn(build(SHAPES[name], V).double(), 0.7).eval()
    ids, computed, own = np.array([3, 1, 4, 1, 5] * 3 + [1, 4, 2]), [], network.log_probabilities
    monkeypatch.setattr(network, "log_probabilities", lambda *given: computed.append(len(given[0])) or own(*given))
    scored = network.score(ids, ids[:0], mark=0)
    windows = np.array(base.contexts(ids, ids[:0], network.architecture.n, mark=0))
    assert scored == pytest.approx(own(torch.from_numpy(windows), torch.from_numpy(ids)).numpy(), abs=1e-5)
    assert sum(computed) == len(np.unique(windows, axis=0)) < len(ids)
    different, row_of = (torch.from_numpy(part) for part in np.unique(windows, axis=0, return_inverse=True))
    for method in (own, partial(base.Network.log_probabilities, network)):  # the family's, and that of any
        assert scored == pytest.approx(method(different, torch.from_numpy(ids), row_of).detach().numpy(), abs=1e-5)
    assert len(base.score(network, windows[:0], ids[:0])) == 0


def test_the_energy_is_section_5_1_written_out():
    network = drawn(build(SHAPES["energy, v shared"], V).double())
    context, _ = batch(network.architecture, 1)
    scores = torch.stack(
        [
            network.v[0] @ torch.tanh(network.d + network.H @ torch.cat([network.C[w], *network.C[context[0]]]))
            + network.b[w]
            for w in range(V)
        ]
    )
    assert torch.allclose(network(context)[0], scores)


def test_a_transformers_head_weighs_words_by_their_distance_and_its_own_slope():
    """One layer whose queries and keys are 0, so that a head's weights are softmax(-r d), of two streams."""
    network = drawn(build(architecture(13, 5, 4, family="transformer", heads=2), V).double(), 0.7).eval()
    layer, words = network.layers[0], torch.randint(V, (2, 6))
    weight, bias = layer.self_attn.in_proj_weight, layer.self_attn.in_proj_bias
    with torch.no_grad():
        weight[:8], bias[:8] = 0, 0
        x, z = network.C[words] * 4**0.5, network.read(words, None)[0]
        v = torch.nn.functional.linear(layer.norm1(x), weight[8:], bias[8:])
        for t in range(6):
            d = torch.arange(t, -1, -1, dtype=torch.float64)  # of each word up to this one
            slopes = ((2**-4, slice(2)), (2**-8, slice(2, 4)))
            heads = [torch.softmax(-r * d, 0) @ v[:, : t + 1, part] for r, part in slopes]
            a = x[:, t] + layer.self_attn.out_proj(torch.cat(heads, 1))
            a = a + layer.linear2(torch.nn.functional.gelu(layer.linear1(layer.norm2(a))))
            assert torch.allclose(z[:, t], network.norm(a))


def test_mingru_is_its_equations_written_out_and_carries_the_state_of_each_layer():
    network = drawn(build(architecture(4, 5, 3, family="mingru", layers=2), V).double(), 0.7).eval()
    words = torch.randint(V, (2, 7))
    a = network.C[words] * 3**0.5
    for norm, ZK, d, back in zip(network.norms, network.ZK, network.d, network.V, strict=False):
        s, states = torch.zeros(2, 5, dtype=torch.float64), []
        for x in norm(a).unbind(1):
            z = torch.sigmoid(d + x @ ZK[:5].T)
            s = (1 - z) * s + z * (x @ ZK[5:].T)
            states.append(s)
        a = a + torch.stack(states, 1) @ back.T
    first, state = network.read(words[:, :3], None)
    assert torch.allclose(torch.cat([first, network.read(words[:, 3:], state)[0]], 1), network.norms[-1](a))


def test_tied_features_are_equation_1_with_u_and_w_of_rank_m():
    network = drawn(build(architecture(4, 5, 3, True, family="tied"), V).double()).eval()
    context, _ = batch(network.architecture)
    x, U, W = network.C[context].flatten(1), network.C @ network.T, network.C @ network.D
    assert torch.allclose(network(context), network.b + torch.tanh(network.d + x @ network.H.T) @ U.T + x @ W.T)
