"""Perplexity, mixtures by EM, and the correction for unseen words."""

import numpy as np
import pytest
from scipy.optimize import minimize

from pipeline.core.common import evaluation, mixture, stream
from pipeline.core.common.stream import SPLITS
from pipeline.core.ngrams import bins

RANDOM = np.random.default_rng(0)


def test_perplexity_is_over_all_tokens_at_once():
    assert evaluation.perplexity(np.log([0.5, 0.125])) == pytest.approx(4)
    assert evaluation.perplexity(np.full(1_000_000, np.log(1 / 300), dtype=np.float32)) == pytest.approx(300, rel=1e-6)


def test_a_mixture_is_the_weighted_sum():
    p = np.array([[0.5, 0.1], [0.1, 0.3]])
    assert np.exp(mixture.mix(np.log(p), [0.5, 0.5])) == pytest.approx([0.3, 0.2])
    assert np.exp(mixture.mix(np.log(p), [0, 1])) == pytest.approx([0.1, 0.3])


def test_em_finds_the_best_weights():
    logs = np.log(RANDOM.dirichlet([1, 1, 1], 500)).T
    weights = mixture.fit_weights(logs, 1e-12, 10_000)

    def loss(free):
        softmax = np.exp(np.append(free, 0)) / np.exp(np.append(free, 0)).sum()
        return -np.mean(mixture.mix(logs, softmax), dtype=np.float64)

    best = minimize(loss, [0, 0], method="Nelder-Mead")
    assert weights.sum() == pytest.approx(1)
    assert -np.mean(mixture.mix(logs, weights)) == pytest.approx(best.fun, abs=1e-6)


def test_em_gives_nothing_to_a_component_that_never_helps():
    with np.errstate(divide="ignore"):
        weights = mixture.fit_weights(np.log([[0.5, 0.5], [0.0, 0.0]]))
    assert weights == pytest.approx([1, 0], abs=1e-3)


def test_weights_by_bin_find_what_helps_where():
    """Of three models one knows the tokens of bin 0, one those of bin 3: weights by bin give each its own."""
    binned = np.repeat([0, 3], 500)
    good, bad = RANDOM.uniform(0.5, 0.6, 1000), RANDOM.uniform(0.1, 0.2, 1000)
    logs = np.log([np.where(binned == 0, good, bad), np.where(binned == 3, good, bad), bad])
    fitted = bins.fit(logs, binned, 1e-9)
    assert fitted.of(np.array([0, 3]))[[0, 1], [0, 1]] == pytest.approx([1, 1], abs=1e-3)
    assert fitted.of(np.array([1, 7])) == pytest.approx(np.tile(fitted.everywhere, (2, 1)))
    mixed = bins.mix(logs, binned, fitted)
    learned = mixture.mix(logs, mixture.fit_weights(logs))
    fixed = mixture.mix(logs, [0.4, 0.4, 0.2])
    assert np.exp(mixed) == pytest.approx(good, rel=1e-3)
    assert mixed.mean() > learned.mean() >= fixed.mean() - 1e-6


def test_with_the_share_probabilities_still_sum_to_one():
    """Over the whole vocabulary: sum_w P'(w) = 1, each unseen word gets the same on top."""
    p = RANDOM.dirichlet(np.ones(20))
    unseen = np.arange(20) >= 17
    treated = np.exp(evaluation.apply_correction(np.log(p), np.arange(20), unseen, 0.1))
    assert treated.sum() == pytest.approx(1, abs=1e-6)
    assert treated[:17] == pytest.approx(0.9 * p[:17], rel=1e-5)
    assert treated[17:] == pytest.approx(0.9 * p[17:] + 0.1 / 3, rel=1e-5)


def test_the_correction_is_the_rate_of_unseen_words_where_the_model_gives_them_nothing():
    ids = np.array([0] * 90 + [1] * 10)
    raw = np.where(ids == 1, -60.0, -1.0)
    unseen = np.array([False, True])
    assert evaluation.fit_correction(raw, ids, unseen) == pytest.approx(0.1, abs=1e-4)


def test_no_unseen_words_no_correction():
    raw = np.array([-1.0, -2.0])
    assert evaluation.fit_correction(raw, np.array([0, 1]), np.array([False, False])) == 0
    assert evaluation.apply_correction(raw, np.array([0, 1]), np.array([False, False]), 0.0) is raw


def test_unseen_words_are_those_that_training_never_shows():
    assert evaluation.unseen_words(np.array([0, 2, 2]), 4).tolist() == [False, True, False, True]


def test_before_a_split_stands_the_one_before_it_in_the_stream():
    ids = {split: np.array([k]) for k, split in enumerate(SPLITS)}
    assert [stream.before(ids, split).tolist() for split in SPLITS] == [[], [0], [1]]
