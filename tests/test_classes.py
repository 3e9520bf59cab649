"""Clustering by exchange, and n-grams over classes."""

import itertools

import numpy as np
import pytest
from conftest import noised, settings

from pipeline import cluster
from pipeline.cluster import write_classes
from pipeline.core.clustering import exchange
from pipeline.core.common.errors import InputError
from pipeline.core.ngrams import classes
from pipeline.data import ngrams

V = 9
STREAM = np.random.default_rng(0).choice(V - 1, 500, p=np.array([8, 7, 6, 5, 4, 3, 2, 1]) / 36)  # 8 never occurs


def test_the_stage_counts_training_alone(few, tmp_path):
    files = []
    for data in (few, noised(few, tmp_path / "noised", "valid", "test")):
        places = [f"data={data}", f"out={tmp_path}/out", f"timing={tmp_path}/timing.json"]
        cluster.main(settings("cluster", "classes=20", "passes=1", *places))
        files.append((tmp_path / "out" / "classes.csv").read_bytes())
    assert files[0] == files[1]


def test_a_pass_changes_the_objective_by_what_it_says():
    """The gains add up to the difference of log-likelihoods, so every move's delta is exact."""
    gains = []
    ended = exchange.exchange(STREAM, V, 3, 1e-9, 50, progress=gains.append)
    start = np.minimum(np.argsort(np.argsort(-np.bincount(STREAM, minlength=V), kind="stable")), 2)
    difference = np.log(exchange.perplexity(STREAM, start)) - np.log(exchange.perplexity(STREAM, ended))
    assert sum(gains) / (len(STREAM) - 1) == pytest.approx(difference, abs=1e-9)
    assert gains[-1] < 1e-9 * len(STREAM)


def test_no_single_move_is_better_than_where_exchange_ends():
    ended = exchange.exchange(STREAM, V, 3, 1e-12, 50)
    best = exchange.perplexity(STREAM, ended)
    for word, other in itertools.product(range(V), range(3)):
        moved = ended.copy()
        moved[word] = other
        assert exchange.perplexity(STREAM, moved) >= best - 1e-9


def test_the_same_seed_gives_the_same_classes_and_annealing_better_ones():
    def classes_of(seed, annealing=30):
        return exchange.exchange(STREAM, V, 4, 1e-9, 50, annealing, temperature=2.0, seed=seed)

    for annealing in (0, 30):
        assert (classes_of(1, annealing) == classes_of(1, annealing)).all()
    plain = exchange.perplexity(STREAM, classes_of(0, annealing=0))
    assert min(exchange.perplexity(STREAM, classes_of(seed)) for seed in range(5)) <= plain


def test_brown_classes(brown):
    """500 classes on the training part: 205.4 at most."""
    brown_classes = exchange.exchange(brown.train, len(brown.vocabulary), 500, 1e-5, 50)
    assert exchange.perplexity(brown.train, brown_classes) <= 205.4


def test_the_class_bigrams_perplexity_by_its_definition():
    """P(w | v) = N(c(v), c(w)) / N(c(v) .) times N(w) / N(. c(w)), counted over the bigrams of the stream."""
    of = np.array([0, 0, 1, 1, 1, 2, 2, 2, 0])
    first, second, word = of[STREAM[:-1]], of[STREAM[1:]], STREAM[1:]
    logs = [
        np.log(((first == g) & (second == h)).sum() / (first == g).sum() * (word == w).sum() / (second == h).sum())
        for g, h, w in zip(first, second, word, strict=True)
    ]
    assert exchange.perplexity(STREAM, of) == pytest.approx(np.exp(-np.mean(logs)))


@pytest.mark.parametrize(("order", "added"), [(1, 0), (2, 0), (3, 0), (3, 1)])
def test_class_probabilities_sum_to_one_over_the_words(order, added):
    of = np.array([0, 0, 1, 1, 1, 2, 2, 2, 0])
    model = classes.fit(STREAM, of, order, added)
    for context in [(0, 1), (8, 8), (5, 7)]:
        p = np.exp([model.log_probabilities(np.array(context), np.array([word]))[0] for word in range(V)])
        assert p.sum() == pytest.approx(1, abs=1e-5)
        assert (p > 0).all()


def test_a_word_that_training_never_shows_has_the_class_of_unk():
    of = np.array([2, 0, 1, 1, 1, 2, 2, 2, 0])
    model = classes.fit(STREAM, of, 2)
    assert model.classes[8] == of[0]
    together = (STREAM[:, None] == np.flatnonzero(of == 2)).sum() + 1  # all unseen words count as one occurrence
    assert np.exp(model.log_share[8]) == pytest.approx(1 / together)
    added = classes.fit(STREAM, of, 2, added=1)  # each unseen word counts as one more of its class
    assert np.exp(added.log_share[8]) == pytest.approx(1 / (together - 1 + (added.classes == of[0]).sum()))


def test_the_file_of_classes_comes_back_and_fits_its_vocabulary_alone(tmp_path):
    words = ["<unk>", "NA", ",", '"', "null", "the"]
    of = np.array([1, 0, 2, 2, 0, 1])
    write_classes(tmp_path / "classes.csv", of, words, np.array([5, 1, 3, 9, 2, 4]))
    assert (ngrams.read_classes(tmp_path / "classes.csv", words) == of).all()
    lines = (tmp_path / "classes.csv").read_text().splitlines()
    assert lines[1:3] == ["0,null,2", "0,NA,1"]
    with pytest.raises(InputError, match="not the classes of this vocabulary"):
        ngrams.read_classes(tmp_path / "classes.csv", [*words, "more"])
