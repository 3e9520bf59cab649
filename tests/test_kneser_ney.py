"""Modified Kneser-Ney: by hand, summing to one, and to the digit of what KenLM gives for this stream."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import run
from test_ngrams import every_word_of

from pipeline.core.common import evaluation
from pipeline.core.common.errors import InputError
from pipeline.core.ngrams import counts, kneser_ney
from pipeline.data import ngrams

V = 8
TRAIN = np.random.default_rng(3).choice(V - 1, 400, p=[0.3, 0.25, 0.2, 0.1, 0.08, 0.05, 0.02])  # 7 never occurs
FORMS = [{}, {"backoff": True}, {"drop": True}, {"backoff": True, "drop": True}]


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_probabilities_sum_to_one(form, order):
    """After contexts seen, half seen and never seen, among them the last words of training, that nothing follows."""
    model = kneser_ney.fit(counts.count(TRAIN, order, V), undefined="fixed", **form)
    contexts = [tuple(TRAIN[t : t + 3]) for t in (0, 5, 77)] + [(7, 1, 0), (0, 7, 2), (1, 0, 7), tuple(TRAIN[-3:])]
    for context in contexts:
        assert every_word_of(model, context).sum() == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("vocabulary", [2, 3, 5, 12])
def test_probabilities_sum_to_one_after_every_context(form, vocabulary):
    """Also where every word of the vocabulary follows, and the back-off form has nothing to pass mass on to."""
    stream = np.random.default_rng(vocabulary).geometric(0.3, 4000).clip(max=vocabulary) - 1
    counted = counts.count(stream, 3, vocabulary)
    model = kneser_ney.fit(counted, undefined="fixed", **form)
    followed = np.bincount(counted.tables[2].keys // vocabulary, minlength=len(counted.tables[1].keys))
    assert (followed == vocabulary).any()
    assert all(np.isfinite(each).all() for each in model.log_backoff)
    words = np.arange(vocabulary)
    for context in itertools.product(words, words):
        # context and word in turn; every third probability is the word's
        tried = np.column_stack([np.tile(context, (vocabulary, 1)), words]).ravel()
        p = np.exp(model.log_probabilities(tried[:0], tried).astype(float))[2::3]
        assert p.sum() == pytest.approx(1, abs=1e-6), context


def test_full_contexts_keep_their_proportions():
    """a a a b b a a a b b ..., |V| = 2: after each word both follow, and no mass is left to pass on."""
    stream = np.tile([0, 0, 0, 1, 1], 9)
    model = kneser_ney.fit(counts.count(stream, 2, 2), backoff=True, undefined="fixed")
    # bigrams: aa 18, ab 9, bb 9, ba 8; D_3+ = 1.5 each
    assert every_word_of(model, [0]) == pytest.approx(np.array([16.5, 7.5]) / 24)
    assert every_word_of(model, [1]) == pytest.approx(np.array([6.5, 7.5]) / 14)
    assert model.log_backoff[0].tolist() == [0, 0]


def test_the_bigram_by_hand():
    """a b a c a b, as 0 1 0 2 0 1, |V| = 4, with the fixed discounts .5, 1, 1.5."""
    model = kneser_ney.fit(counts.count(np.array([0, 1, 0, 2, 0, 1]), 2, 4), undefined="fixed")
    # bigrams: ab 2, ba 1, ac 1, ca 1. Different words before: a has b, c and the beginning: 3; b: 1; c: 1. In all 5.
    gamma = (1 * 0.5 + 1 * 0.5 + 1 * 1.5) / 5
    a, b, c, d = (3 - 1.5) / 5 + gamma / 4, 0.5 / 5 + gamma / 4, 0.5 / 5 + gamma / 4, gamma / 4
    assert every_word_of(model, [3]) == pytest.approx([a, b, c, d])  # after the unseen word: the unigrams
    # after a: b twice, c once; D_2 = 1, D_1 = .5 go to the unigrams
    after_a = (1 + 0.5) / 3
    expected = [after_a * a, (2 - 1) / 3 + after_a * b, (1 - 0.5) / 3 + after_a * c, after_a * d]
    assert every_word_of(model, [0]) == pytest.approx(expected)


def test_the_back_off_form_by_hand():
    """Its order 1 gives what the discounts leave to the one word that training never shows."""
    model = kneser_ney.fit(counts.count(np.array([0, 1, 0, 2, 0, 1]), 2, 4), backoff=True, undefined="fixed")
    unigrams = every_word_of(model, [3])
    assert unigrams == pytest.approx([(3 - 1.5) / 5, 0.5 / 5, 0.5 / 5, 2.5 / 5])
    alpha = (1 - 1 / 3 - 0.5 / 3) / (1 - unigrams[1] - unigrams[2])
    expected = [alpha * unigrams[0], 1 / 3, 0.5 / 3, alpha * unigrams[3]]
    assert every_word_of(model, [0]) == pytest.approx(expected)


def test_without_unseen_words_the_back_off_form_gives_what_is_left_to_all():
    model = kneser_ney.fit(counts.count(np.array([0, 1, 0, 2, 0, 1]), 1, 3), backoff=True, undefined="fixed")
    left = (1.5 + 1 + 0.5) / 6 / 3
    assert every_word_of(model, [0]) == pytest.approx([1.5 / 6 + left, 1 / 6 + left, 0.5 / 6 + left])


def test_what_is_dropped_in_the_interpolated_form_by_hand():
    """0 1 2 0 1 3 0 1 2, order 3: the trigram 0 1 3, seen once, is left to back-off; 0 1 2 has gamma's part too."""
    model = kneser_ney.fit(counts.count(np.array([0, 1, 2, 0, 1, 3, 0, 1, 2]), 3, 5), drop=True, undefined="fixed")
    bigrams = every_word_of(model, [4, 1])
    two = (2 - 1) / 3 + (1 + 0.5) / 3 * bigrams[2]
    alpha = (1 - two) / (1 - bigrams[2])
    assert every_word_of(model, [0, 1]) == pytest.approx([two if w == 2 else alpha * bigrams[w] for w in range(5)])


def test_discounts_follow_chen_and_goodman():
    adjusted = np.repeat([1, 2, 3, 4, 9], [40, 20, 10, 6, 30])
    y = 40 / (40 + 2 * 20)
    expected = (1 - 2 * y * 20 / 40, 2 - 3 * y * 10 / 20, 3 - 4 * y * 6 / 10)
    assert kneser_ney.discounts(adjusted) == pytest.approx(expected)


def test_undefined_discounts_are_an_error_or_fixed_or_none_at_order_1():
    """0 0 0 0 1 1 1 1: no word is seen once; with `relative` order 1 has the frequencies, whatever stands before."""
    assert kneser_ney.discounts(np.array([1, 1, 1, 7])) is None
    counted = counts.count(np.repeat([0, 1], [6, 2]), 1, 2)
    with pytest.raises(InputError, match=r"of order 1: counts of counts \[0, 1, 0, 0\] leave"):
        kneser_ney.fit(counted)
    fixed = kneser_ney.fit(counted, undefined="fixed")
    assert every_word_of(fixed, [0]) == pytest.approx([4.5 / 8 + 2.5 / 16, 1 / 8 + 2.5 / 16])
    assert every_word_of(kneser_ney.fit(counted, undefined="relative"), [0]) == pytest.approx([6 / 8, 2 / 8])


@pytest.fixture(scope="module")
def counted(brown):
    return {order: counts.count(brown.train, order, len(brown.vocabulary)) for order in (3, 5)}


# SRILM 1.7.3 itself on these ids: by default, and with -interpolate. It knows an end of sentence beside the words,
# which takes 1 of 728 parts of what order 1 leaves: that is the difference in the fifth digit.
SRILM = {"backoff": True, "drop": True}


@pytest.mark.parametrize(
    ("order", "form", "valid", "test", "within"),
    [
        (3, SRILM, 333.854, 319.606, 1e-4),
        (5, SRILM, 334.644, 319.926, 1e-4),
        (5, {"drop": True}, 318.927, 303.158, 1e-5),
    ],
    ids=str,
)
def test_brown_figures(brown, counted, order, form, valid, test, within):
    model = kneser_ney.fit(counted[order], **form)
    perplexities = [
        evaluation.perplexity(model.log_probabilities(brown.before(split), brown.ids(split)))
        for split in ("valid", "test")
    ]
    assert perplexities == [pytest.approx(valid, rel=within), pytest.approx(test, rel=within)]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_counts_in_files_have_the_bits_of_counts_in_memory(form, tmp_path):
    """Sorted and smoothed in parts, of which one word's n-grams may be more than fit into one."""
    stores = counts.MEMORY, counts.Store(tmp_path, 30)
    of = [kneser_ney.fit(counts.count(TRAIN, 4, V, store), undefined="fixed", **form) for store in stores]
    for ours, theirs in zip(*([*each.log_p, *each.log_backoff] for each in of), strict=True):
        assert np.array_equal(ours, theirs, equal_nan=True)
    assert np.array_equal(*(model.log_probabilities(TRAIN[:0], TRAIN[::-1]) for model in of))
    assert not list(tmp_path.iterdir())  # a killed run leaves nothing


def test_counts_that_fit_nowhere_are_refused(few, tmp_path, monkeypatch, caplog):
    """Little memory: they lie in files. A full disk as well: the error says so."""
    asked = ("ngram", f"data={few}", "ngram=kn5", "memory=0.001", f"out={tmp_path}/out")
    with caplog.at_level("INFO"):
        run(*asked)
    assert f"in files at {tmp_path}" in caplog.text
    monkeypatch.setattr(ngrams.shutil, "disk_usage", lambda folder: SimpleNamespace(free=1_000_000))
    with pytest.raises(InputError, match=r"ngram.order=5: .* need up to .* GB, and .* has 0.0 GB"):
        run(*asked)
