"""Short lists: the trigram chooses and weighs the words that an energy network scores."""

import numpy as np
import pytest
import torch
from conftest import drawn, made_network, run
from test_families import SHAPES
from test_ngrams import TRAIN, VALID, every_word_of
from test_ngrams import V as WORDS

from pipeline.core.beyond import likeliest, shortlist
from pipeline.core.common.errors import InputError
from pipeline.core.networks.registry import build
from pipeline.core.ngrams import interpolated
from pipeline.data.corpus import read_corpus
from pipeline.data.files import read_json
from pipeline.data.predictions import read_predictions

CONTEXTS = np.array([(1, 2), (3, 3), (0, 2), (2, 0), (6, 0), (5, 5)])  # seen, half seen and never seen
ENERGY = [name for name in SHAPES if name.startswith("energy")]


@pytest.fixture(scope="module")
def trigram():
    return interpolated.fit(TRAIN, VALID, WORDS, 1e-9)


def test_distributions_are_the_models_own(trigram):
    expected = np.array([every_word_of(trigram, context) for context in CONTEXTS])
    assert likeliest.distributions(trigram, CONTEXTS) == pytest.approx(expected, abs=1e-6)


def every_word_by_list(network, trigram, size):
    """Probabilities (B, V) of all words after CONTEXTS, the network's own and by lists."""
    own = torch.randint(WORDS, (len(CONTEXTS), network.architecture.n - 1), generator=torch.Generator().manual_seed(0))
    words, p = map(torch.from_numpy, likeliest.likeliest(trigram, CONTEXTS, size))
    otherwise = torch.from_numpy(likeliest.distributions(trigram, CONTEXTS)).log()
    listed = [
        shortlist.log_probabilities(network, own, torch.full((len(own),), word), words, p, otherwise[:, word])
        for word in range(WORDS)
    ]
    return network.distribution(own).exp(), torch.stack(listed, 1).exp(), words


@pytest.mark.parametrize("name", ENERGY)
def test_with_all_words_on_the_list_it_is_the_network_and_with_some_it_sums_to_one(name, trigram):
    network = drawn(build(SHAPES[name], WORDS))
    whole, listed, _ = every_word_by_list(network, trigram, WORDS)
    assert torch.allclose(listed, whole, atol=1e-5)
    whole, listed, words = every_word_by_list(network, trigram, 3)
    assert torch.allclose(listed.sum(1), torch.ones(len(CONTEXTS)), atol=1e-5)
    p = torch.from_numpy(likeliest.distributions(trigram, CONTEXTS))
    within = torch.zeros_like(p, dtype=torch.bool).scatter(1, words, True)
    assert torch.allclose(listed[~within], p[~within])  # the others keep the trigram's
    ratio = (listed / whole.detach())[within].view(-1, 3)
    assert torch.allclose(ratio, ratio[:, :1].expand(-1, 3), rtol=1e-4)  # those on the list the network's shares


def test_the_stage_scores_every_token(few, tmp_path):
    corpus = read_corpus(few)
    for name in ("energy, v indexed", "feedforward"):
        made_network(tmp_path / SHAPES[name].family / "0", corpus, SHAPES[name])
    given = [f"data={few}", f"predictions=[{tmp_path}]", f"out={tmp_path}/short/0", "size=50"]
    run("shortlist", *given, "network=energy/0")
    metrics = read_json(tmp_path / "short" / "0" / "metrics.json")
    assert len(read_predictions(tmp_path / "short" / "0", "valid", len(corpus.valid)))
    assert 1 < metrics["test_raw"] < len(corpus.vocabulary)
    for setting, says in (
        ("network=feedforward/0", "network=feedforward/0: short lists are for the families that score pairs"),
        ("size=1000000", "size=1000000: from 1 to the"),
        ("ngram=kn5", "ngram.kind=kneser_ney: short lists are the interpolated trigram's"),
    ):
        with pytest.raises(InputError, match=says):
            run("shortlist", *given, setting)
