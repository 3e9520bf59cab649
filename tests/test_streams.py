"""Families that read a stream in order: what they carry from word to word, how they are scored, what a step reads."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from conftest import architecture, drawn
from test_families import SHAPES
from test_network import V

from pipeline.core.networks.registry import build
from pipeline.core.streams import network as streams
from pipeline.core.training.batches import Streams

IN_ORDER = [name for name, shape in SHAPES.items() if build(shape, V).in_order]
MARK = 1


@pytest.fixture(params=IN_ORDER)
def network(request):
    return drawn(build(SHAPES[request.param], V), 0.7).eval()


@pytest.fixture
def stream():
    return np.random.default_rng(0).integers(V, size=60).astype(np.int32)


def word_by_word(network, stream):
    """log P of each word of a stream but the first, by reading one word after the other."""
    log_p, state = [], None
    for word, following in pairwise(stream):
        z, state = network.read(torch.tensor([[int(word)]]), state)
        y = torch.nn.functional.linear(z[0, 0], network.output_weight, network.b)
        log_p.append(torch.log_softmax(y, 0)[int(following)].item())
    return np.array(log_p, dtype=np.float32)


def test_scoring_reads_a_split_in_order_from_the_words_before_it(network, stream, monkeypatch):
    """Whatever is read at a time; the state is that which the split before has left."""
    expected = word_by_word(network, np.concatenate([[MARK], stream]))
    monkeypatch.setattr(streams, "CHUNK", 7 if network.architecture.family == "lstm" else 1)
    before, ids = stream[:25], stream[25:]
    scored = network.score(ids, before, MARK)
    assert scored.dtype == np.float32 and np.allclose(scored, expected[25:], atol=1e-5)
    assert np.allclose(network.score(stream, stream[:0], MARK), expected, atol=1e-5)


def test_some_places_alone_have_the_probabilities_of_the_whole(network, stream, monkeypatch):
    monkeypatch.setattr(streams, "CHUNK", 1)
    places = np.array([3, 4, 5, 20, 21, 34])
    before, ids = stream[:25], stream[25:]
    assert np.allclose(network.score(ids, before, MARK, places), network.score(ids, before, MARK)[places], atol=1e-5)


def test_the_next_word_has_the_probability_that_scoring_gives_it(network, stream, monkeypatch):
    monkeypatch.setattr(streams, "CHUNK", 1)
    expected = network.score(stream, stream[:0], MARK)
    assert network.next(stream[:40], MARK)[stream[40]] == pytest.approx(expected[40], abs=1e-5)
    assert np.exp(network.next(stream[:0], MARK)).sum() == pytest.approx(1, abs=1e-5)


def test_a_training_step_goes_on_where_the_last_one_ended(stream):
    """The loss of two steps is that of both in one, where nothing is left out."""
    network = drawn(build(SHAPES["lstm"], V), 0.5)
    words = torch.from_numpy(stream[:40].astype(np.int64)).reshape(2, 20)
    network.train()
    whole = network(words)
    network.state = None
    parts = [network(part) for part in words.split(8, 1)]
    by_stream = torch.cat([part.reshape(2, -1, V) for part in parts], 1).flatten(0, 1)
    assert torch.allclose(whole, by_stream, atol=1e-5)
    assert not network.state[0].requires_grad


def test_an_epoch_reads_each_word_once_after_the_word_before_it():
    ids = np.arange(100, 203, dtype=np.int32)
    batches = Streams(ids, MARK, n=5, batch=20, device=torch.device("cpu"))  # 5 streams of 20 words, 4 a step
    assert (batches.words, batches.steps, batches.words_in(2), batches.words_in(5)) == (100, 5, 40, 100)
    orders = set()
    for epoch in range(3):
        batches.shuffle(np.random.default_rng(epoch))
        seen = []
        for step in range(batches.steps):
            context, target = batches.step(step)
            assert context.shape == (5, 4) and target.shape == (20,)
            before = context.flatten()
            assert all(b == t - 1 or (b == MARK and t == 100) for b, t in zip(before, target, strict=True))
            seen += target.tolist()
        assert len(set(seen)) == 100 and set(seen) <= set(ids.tolist())
        orders.add(tuple(seen))
    assert len(orders) == 3


def test_pieces_side_by_side_have_the_probabilities_of_one_after_the_other(monkeypatch):
    """A network of small weights forgets within the words that are read before each piece."""
    network = drawn(build(SHAPES["lstm"], V), 0.3).eval()
    stream = np.random.default_rng(0).integers(V, size=400).astype(np.int32)
    monkeypatch.setattr(streams, "WARM", 50)
    monkeypatch.setattr(streams, "SIDE_BY_SIDE", 1)
    expected = network.score(stream, stream[:60], MARK)
    monkeypatch.setattr(streams, "SIDE_BY_SIDE", 7)
    shown = []
    assert np.allclose(network.score(stream, stream[:60], MARK, progress=shown.append), expected, atol=1e-4)
    assert sum(shown) == 400
    states = network.states(stream, stream[:60], MARK)
    y = torch.log_softmax(torch.nn.functional.linear(states, network.output_weight, network.b), 1)
    assert np.allclose(y.detach()[np.arange(400), stream], expected, atol=1e-4)


def test_penalties_on_states_are_in_the_gradient_alone(stream):
    """The value of a training step's loss stays that of the words; its gradient has that of alpha mean z^2 and of beta
    mean (z_t - z_{t-1})^2, once."""
    words = torch.from_numpy(stream[:40].astype(np.int64)).reshape(2, 20)
    values, gradients = [], []
    for alpha, beta in ((0.0, 0.0), (2.0, 3.0)):
        shape = architecture(4, 5, 3, family="lstm", layers=2, state_penalty=alpha, change_penalty=beta)
        network = drawn(build(shape, V), 0.5).double().train()
        values.append(loss := network.loss(words, words.flatten()))
        gradients.append(torch.autograd.grad(loss, network.layers.parameters()))
    z, _ = network.read(words, None)
    penalty = 2 * (z**2).mean() + 3 * ((z[:, 1:] - z[:, :-1]) ** 2).mean()
    assert values[0] == values[1]
    for without, with_it, of_it in zip(
        *gradients, torch.autograd.grad(penalty, network.layers.parameters()), strict=True
    ):
        assert torch.allclose(with_it, without + of_it, rtol=1e-9) and not torch.allclose(with_it, without)


def test_weights_from_state_to_state_are_dropped(stream):
    """Two training steps leave out others; in scoring none are left out."""
    network = drawn(build(architecture(4, 5, 3, family="lstm", layers=2, weight_dropout=0.5), V), 0.5)
    words = torch.from_numpy(stream[:40].astype(np.int64)).reshape(2, 20)
    network.train()
    first, _ = network.read(words, None)
    second, _ = network.read(words, None)
    assert not torch.allclose(first, second)
    network.eval()
    assert torch.equal(network.read(words, None)[0], network.read(words, None)[0])
