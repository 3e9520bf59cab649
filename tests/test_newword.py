"""Words outside the vocabulary."""

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import drawn
from test_families import SHAPES
from test_network import V, batch

from pipeline import out_of_vocabulary
from pipeline.core.beyond import new_words
from pipeline.core.common import stream
from pipeline.core.common.errors import InputError
from pipeline.core.networks.base import contexts
from pipeline.core.networks.registry import build
from pipeline.data.corpus import Corpus

# A word is held out of windows of context; what reads a stream in order has none.
EVERY = {name: shape for name, shape in SHAPES.items() if not build(shape, V).in_order}


def made(name):
    return drawn(build(EVERY[name], V).double())


@pytest.mark.parametrize("name", EVERY)
def test_features_are_those_that_the_network_expects(name):
    network = made(name)
    context, _ = batch(network.architecture)
    p = network.distribution(context).exp().detach().numpy()
    expected = np.array([sum(p[b, i] * network.C[i].detach().numpy() for i in range(V)) for b in range(len(p))])
    assert new_words.expected_features(network, context).numpy() == pytest.approx(expected)


@pytest.mark.parametrize("name", EVERY)
def test_a_new_word_with_the_features_of_an_old_one_stands_for_it_in_contexts(name):
    network = made(name)
    context, target = batch(network.architecture)
    larger = new_words.with_words(network, network.C[[3, 7]].detach())
    replaced = torch.where(context == 3, V, torch.where(context == 7, V + 1, context))
    assert (replaced != context).any()
    same = network.log_probabilities(context, target)
    assert torch.allclose(larger.log_probabilities(replaced, target), same)


def test_the_energy_network_gives_a_new_word_a_probability():
    """With the features and bias of an old word it is as likely as that one, and all still sum to one."""
    network = made("energy, v shared")
    context, _ = batch(network.architecture)
    larger = new_words.with_words(network, network.C[[3]].detach(), network.b[[3]].detach())
    scored = torch.stack([larger.log_probabilities(context, torch.full((len(context),), i)) for i in range(V + 1)], 1)
    assert torch.allclose(scored[:, V], scored[:, 3])
    assert torch.allclose(scored.exp().sum(1), torch.ones(len(context), dtype=torch.float64))
    with pytest.raises(InputError, match="needs a network that scores pairs"):
        new_words.with_words(made("feedforward"), network.C[[3]].detach(), network.b[[3]].detach())


HELD_OUT = (9, 10)


@pytest.fixture
def corpus():
    """Two texts of validation; training shows all words but two, which come three times and twice."""
    train = np.delete(np.arange(V), HELD_OUT)
    valid = np.array([1, 9, 2, 3, 4, 5, 6, 7, 8, 10, 10, 9, 2, 9, 3, 4, 5, 6])
    texts = pd.DataFrame(
        {"name": list("abc"), "genre": "", "split": ["train", "valid", "valid"], "first": [0, 0, 9], "end": [0, 9, 18]}
    )
    vocabulary = [stream.UNKNOWN, stream.TEXT, *(f"w{i}" for i in range(2, V))]
    return Corpus(vocabulary, train, valid, valid, texts.to_csv(index=False), {"digest": "x"})


@pytest.mark.parametrize("name", EVERY)
def test_held_out_words_are_found_where_they_stand(corpus, name):
    """And where all words have the same features it does not matter which ones they get."""
    network = made(name)
    network.C.data[:] = network.C.data[0].clone()
    table = out_of_vocabulary.compare(network, corpus, "valid")
    reach = {i + k for i in np.flatnonzero(np.isin(corpus.valid, HELD_OUT)) for k in range(1, network.architecture.n)}
    after = table.loc["after"]
    assert after[["words", "tokens"]].tolist() == [2, len(reach & set(range(len(corpus.valid))))]
    assert after[["untrained", "expected"]].tolist() == pytest.approx([after["merged"]] * 2)
    assert after[["ratio", "low", "high"]].tolist() == pytest.approx([1, 1, 1])
    if new_words.scores_new_words(network):
        assert table.loc["itself", ["words", "tokens"]].tolist() == [2, 3]
    else:
        assert "itself" not in table.index


def test_the_first_place_gives_the_features_that_all_later_places_use(corpus):
    """A network that has those features already has nothing to gain."""
    network = made("feedforward")
    network.b.data[list(HELD_OUT)] = -50  # so that they have no part in what is expected
    reading = contexts(corpus.valid, corpus.train, network.architecture.n, corpus.mark)
    places = torch.tensor(reading[[1, 9]].astype(np.int64))  # no held-out word is in these
    network.C.data[list(HELD_OUT)] = new_words.expected_features(network, places)
    after = out_of_vocabulary.compare(network, corpus, "valid").loc["after"]
    assert after["expected"] == pytest.approx(after["untrained"])
    assert after["expected"] != pytest.approx(after["merged"])
