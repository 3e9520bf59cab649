"""Counts against a plain loop, and the deleted interpolation trigram against its formula and known figures."""

from collections import Counter

import numpy as np
import pytest
from conftest import changed, settings

from pipeline.core.common import evaluation
from pipeline.core.ngrams import bins, counts, interpolated
from pipeline.core.ngrams.cache import Cache, earlier
from pipeline.core.ngrams.model import Source, make

V = 7
TRAIN = np.random.default_rng(0).integers(1, V - 1, 300)  # 0 and 6 never occur
VALID = np.random.default_rng(1).integers(0, V, 200)


def test_counts_are_those_of_a_loop():
    counted = counts.count(TRAIN, 4, V)
    places = counted.places(VALID)
    for k in range(1, 5):
        plain = Counter(tuple(TRAIN[t : t + k]) for t in range(len(TRAIN) - k + 1))
        ours = counted.tables[k - 1].count(places[k - 1])
        for t in range(len(VALID)):
            assert ours[t] == (plain[tuple(VALID[t - k + 1 : t + 1])] if t >= k - 1 else 0)
        assert counted.tables[k - 1].counts.sum() == len(TRAIN) - k + 1


def test_continuations_count_what_follows():
    counted = counts.count(TRAIN, 2, V)
    follow = Counter(TRAIN[:-1].tolist())
    assert counted.continuations(1).tolist() == [follow[word] for word in range(V)]


def test_high_orders_fit_in_64_bits():
    """16,351 words to the fifth power do not: keys are built of places."""
    stream = np.random.default_rng(0).integers(0, 100_000, 10_000)
    counted = counts.count(stream, 6, 100_000)
    assert (counted.places(stream)[5][5:] != counts.NEVER).all()


def every_word_of(model, context):
    """P(w | context) of all words."""
    words = range(model.counts.vocabulary)
    return np.exp([model.log_probabilities(np.array(context), np.array([word]))[0] for word in words])


def test_interpolated_by_hand():
    train = np.array([1, 2, 1, 2, 3, 1])
    model = interpolated.fit(train, np.array([2, 1, 3]), 5, 1e-9)
    a = np.array([0.1, 0.2, 0.3, 0.4])
    fixed = interpolated.Interpolated(model.counts, bins.BinWeights({}, a))
    # p_1(2) = 2/6; of the two words after 1 both are 2; after (2, 1) comes 2, once of once
    assert np.exp(fixed.log_probabilities(np.array([2, 1]), np.array([2])))[0] == pytest.approx(
        a @ [1 / 5, 2 / 6, 2 / 2, 1 / 1]
    )
    # context (3, 2) never seen: p_3 := p_2 = c(2 3)/c(2 .) = 1/2
    assert np.exp(fixed.log_probabilities(np.array([3, 2]), np.array([3])))[0] == pytest.approx(
        a @ [1 / 5, 1 / 6, 1 / 2, 1 / 2]
    )
    # context (2, 4), word 4 never seen: all that is left is p_1 for p_2 and p_3
    assert np.exp(fixed.log_probabilities(np.array([2, 4]), np.array([1])))[0] == pytest.approx(
        a @ [1 / 5, 3 / 6, 3 / 6, 3 / 6]
    )


@pytest.mark.parametrize("name", ["kn3", "class150-3"])
def test_what_has_no_weights_is_counted_on_training_alone(name):
    asked = changed(settings("ngram", f"ngram={name}").ngram, undefined="fixed")
    models = [make(asked, Source(TRAIN, valid, range(V), np.arange(V) % 3)) for valid in (VALID, VALID[:9])]
    assert np.array_equal(*(model.log_probabilities(TRAIN, VALID) for model in models))


def test_bins_follow_the_papers_formula():
    assert bins.bins_of(np.array([0, 1, 799_999]), 800_000).tolist() == [14, 13, 0]


@pytest.fixture(scope="module")
def brown_trigram(brown):
    return interpolated.fit(brown.train, brown.valid, len(brown.vocabulary), 1e-9)


def test_brown_figures(brown, brown_trigram):
    """train 31.97, validation 355.8, test 329.8: what an independent program gave for this stream."""
    perplexities = [
        evaluation.perplexity(brown_trigram.log_probabilities(brown.before(split), brown.ids(split)))
        for split in ("train", "valid", "test")
    ]
    assert perplexities == pytest.approx([32.823, 340.92, 321.46], rel=1.4e-4)  # to the last digit


@pytest.mark.parametrize("length", [1, 3, 50])
def test_what_a_cache_holds_is_what_a_loop_finds(length):
    held = earlier(VALID, length)
    assert held.tolist() == [(VALID[max(0, t - length) : t] == VALID[t]).sum() for t in range(len(VALID))]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("read", [0, 1, 5, 40])
def test_a_cache_is_a_distribution_and_knows_nothing_of_what_comes(order, read):
    """After nothing, little, and more than it holds; word by word as at once."""
    cache, before, ids = Cache(order, 7, V), TRAIN[:read], VALID[:30]
    every = np.array([cache.log_probabilities(before, np.array([word]))[0] for word in range(V)])
    assert np.exp(every).sum() == pytest.approx(1) and cache.next(before) == pytest.approx(every)
    alone = [cache.log_probabilities(np.append(before, ids[:t]), ids[t : t + 1])[0] for t in range(len(ids))]
    assert cache.log_probabilities(before, ids) == pytest.approx(np.array(alone))


def test_a_cache_by_hand():
    """After "1 2 1 2 3 1" of seven words: P_1(2) = (2 + 1/7) / 7, and both times a 2 followed a 1."""
    ids, before = np.array([2]), np.array([1, 2, 1, 2, 3, 1])
    unigram = (2 + 1 / 7) / 7
    assert Cache(1, 9, 7).log_probabilities(before, ids)[0] == pytest.approx(np.log(unigram))
    assert Cache(2, 9, 7).log_probabilities(before, ids)[0] == pytest.approx(np.log((2 + unigram) / 3))
    assert Cache(2, 3, 7).log_probabilities(before, ids)[0] == pytest.approx(np.log((1 + (1 + 1 / 7) / 4) / 2))
