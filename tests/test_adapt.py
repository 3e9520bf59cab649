"""Models that learn from the text which they read: the neural cache and dynamic evaluation, against their equations."""

import numpy as np
import pytest
import torch
from conftest import drawn, settings
from test_families import WIDE
from test_network import V

from pipeline.core.common import evaluation
from pipeline.core.common.errors import Watcher
from pipeline.core.networks.registry import build
from pipeline.core.streams import adapt as choice
from pipeline.core.streams import cache, dynamic

MARK = 1


@pytest.fixture(scope="module")
def network():
    return drawn(build(WIDE["lstm"], V), 0.5).eval()


@pytest.fixture(scope="module", params=["lstm", "transformer", "feedforward", "residual"])
def learner(request):
    return drawn(build(WIDE[request.param], V), 0.5).eval()


@pytest.fixture(scope="module")
def stream():
    return np.random.default_rng(0).integers(V, size=90).astype(np.int32)


def test_the_cache_is_its_equation(network, stream, monkeypatch):
    """Word by word; each theta of its own; only so many words are held, those of the split before among them."""
    monkeypatch.setattr(cache, "BLOCK", 7)
    before, ids, size, thetas = stream[:20], stream[20:], 15, [0.3, 2.0]
    scored = cache.log_probabilities(network, ids, before, MARK, size, thetas)
    z = network.states(stream, stream[:0], MARK).numpy().astype(np.float64)
    for k, theta in enumerate(thetas):
        for t in range(20, 90):
            held = range(max(5, t - size), t)  # the cache begins with the last 15 words before the split
            weights = np.array([np.exp(theta * z[t] @ z[i]) for i in held])
            own = weights[[stream[i] == stream[t] for i in held]].sum() / weights.sum()
            assert np.exp(scored[k, t - 20]) == pytest.approx(own, abs=1e-5)


def test_dynamic_evaluation_without_a_rate_is_the_network_itself(learner, stream):
    before, ids = stream[:20], stream[20:]
    roots = dynamic.mean_squares(learner, before, MARK, 8)
    scored = dynamic.log_probabilities(learner, ids, before, MARK, roots, 0.0, 0.0, 0.1, 8)
    assert np.allclose(scored, learner.score(ids, before, MARK), atol=1e-5)


def test_a_stretch_is_scored_before_it_is_learned_from(learner, stream):
    """The first is scored by the trained network; a text that repeats itself becomes likelier; the network stays."""
    trained = {name: tensor.clone() for name, tensor in learner.state_dict().items()}
    text = np.tile(stream[:16], 20)
    roots = dynamic.mean_squares(learner, stream, MARK, 8)
    scored = dynamic.log_probabilities(learner, text, stream, MARK, roots, 2e-2, 0.0, 0.1, 8)
    itself = learner.score(text, stream, MARK)
    assert np.allclose(scored[:8], itself[:8], atol=1e-5)
    assert scored[-100:].mean() > itself[-100:].mean() + 0.5
    for name, tensor in learner.state_dict().items():
        assert torch.equal(tensor, trained[name]), name


def test_the_step_is_the_papers():
    theta, trained, root = torch.tensor([1.0, -2.0]), torch.tensor([0.5, 0.5]), torch.tensor([0.2, 0.6])
    theta.grad = torch.tensor([0.1, -0.3])
    expected = theta + 0.05 * (trained - theta) * root / 0.4 - 0.01 * theta.grad / (root + 0.1 * 0.4)
    dynamic._learn([(theta, trained, 0.05 * root / 0.4, root + 0.1 * 0.4)], 0.01)
    assert torch.allclose(theta, expected) and theta.grad is None


def test_dynamic_evaluation_knows_nothing_of_what_comes(learner, stream):
    """Where a stretch of eight words begins, and within one: later words change nothing, and the probabilities of all
    words there sum to 1, so that the word itself was not learned from."""
    roots = dynamic.mean_squares(learner, stream, MARK, 8)

    def scored(words):
        return dynamic.log_probabilities(learner, words, stream[:0], MARK, roots, 1e-2, 1e-2, 0.1, 8)

    ours = scored(stream)
    for place in (16, 19):
        changed = stream.copy()
        changed[place:] = (changed[place:] + 1) % V
        theirs, after = scored(changed), place + 1
        assert np.array_equal(ours[:place], theirs[:place]) and not np.isclose(ours[after:], theirs[after:]).all()
        total = sum(np.exp(float(scored(np.append(stream[:place], word))[place])) for word in range(V))
        assert total == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize(
    ("way", "given"),
    [("cache", ["size=50"]), ("dynamic", ["rates=[0,1e-2,5e-2]", "decays=[0,1e-1]", "length=8"])],
)
def test_no_choice_hangs_on_test(network, stream, way, given):
    """Training and validation repeat themselves, which wants a high rate. Test does so too, or has words as the
    network's biases draw them, which wants a low one, and ten times as many as validation: it would outvote it."""
    asked = settings("adapt", "network=lstm", f"adapt={way}", *(f"adapt.{each}" for each in given)).adapt
    repeated, biases = np.tile(stream[:16], 20), network.b.detach().double().softmax(0).numpy()
    results = []
    for test in (repeated, np.random.default_rng(1).choice(V, 10 * len(repeated), p=biases).astype(np.int32)):
        ids = {"train": repeated, "valid": repeated, "test": test}
        raw = {split: network.score(ids[split], repeated, MARK) for split in ("valid", "test")}
        what = asked, network, ids, MARK
        results.append(choice.with_cache(*what, raw) if way == "cache" else choice.learning(*what, Watcher()))
    (ours, chosen), (theirs, again) = results
    assert chosen == again and np.array_equal(ours["valid"], theirs["valid"])
    assert evaluation.perplexity(ours["valid"]) < evaluation.perplexity(raw["valid"])
