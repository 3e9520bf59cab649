"""Training: equal seeds give equal bits, a killed run ends as an uninterrupted one, and the paper's updates."""

import copy
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
import torch
from conftest import architecture, changed, settings
from test_families import FORGETFUL

from pipeline.core.common import evaluation
from pipeline.core.common.errors import InputError
from pipeline.core.networks.base import contexts, score
from pipeline.core.networks.registry import build
from pipeline.core.training import training_perplexity
from pipeline.core.training.optimiser import Adam, rate_at
from pipeline.core.training.trainer import Trainer, Watch, stopping_places
from pipeline.running.checkpoint import read_state

SMALL = architecture(3, 4, 3, True)


class Ids(NamedTuple):
    """Two splits of fifty words, and the text mark."""

    train: np.ndarray
    valid: np.ndarray
    mark: int = 1


@pytest.fixture(scope="module")
def recipe():
    return changed(settings("train").recipe, batch=16, samples=20, epochs=3, bfloat16=False)


@pytest.fixture(scope="module")
def corpus():
    random = np.random.default_rng(0)
    return Ids(random.zipf(1.5, 2000).clip(max=49), random.zipf(1.5, 900).clip(max=49))


class KillError(Exception):
    """Stands for the end of the process."""


class Memory(Watch):
    """Keeps what a training hands out whenever it may, and can end it."""

    def __init__(self):
        self.state, self.curve, self.states, self.left = None, [], [], 0

    def resume(self):
        return copy.deepcopy(self.state)

    def save(self, state):
        self.state = copy.deepcopy(state)

    def look(self, save):
        save()

    def step(self, progress, words):
        self.left -= 1
        if self.left == 0:
            raise KillError

    def epoch(self, epoch):
        self.curve.append(epoch)
        self.states.append(self.state)


def trained(recipe, corpus, seed=0, watch=None, shape=SMALL):
    trainer = Trainer(build(shape, 50), recipe, *corpus, seed, "cpu", watch or Watch())
    return trainer.run(), trainer.progress.curve


def killed_at(step, run):
    """Ends a training after so many steps; what is left of it."""
    watch = Memory()
    watch.left = step
    with pytest.raises(KillError):
        run(watch=watch)
    return watch


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def test_another_seed_gives_other_bits(recipe, corpus):
    assert not same(*(trained(recipe, corpus, seed)[0] for seed in (0, 1)))


@pytest.fixture(scope="module", params=["adam", "sgd", "averaged streams"])
def run(request, recipe, corpus):
    if request.param == "averaged streams":
        penalties = {"state_penalty": 2.0, "change_penalty": 1.0}
        shape = architecture(5, 4, 3, family="lstm", layers=2, tied=True, **FORGETFUL, **penalties)
        return partial(trained, changed(recipe, dropout=0.2, average=0.5), corpus, shape=shape)
    return partial(trained, changed(recipe, optimiser=request.param), corpus)


@pytest.fixture(scope="module")
def whole(run):
    return run()


@pytest.mark.parametrize("step", [1, 64, 65, 125, 374])
def test_a_killed_training_ends_with_the_numbers_of_an_uninterrupted_one(run, whole, step):
    """What is carried from step to step of streams is in the checkpoint, and the averaged weights are."""
    watch = killed_at(step, run)
    resumed, curve = run(watch=watch)
    assert same(whole[0], resumed) and curve == whole[1]
    assert [epoch.epoch for epoch in watch.curve] == [1, 2, 3]  # each once


@pytest.mark.parametrize("content", [{"a": 1}, {"progress": {"b": 2}}, [1]], ids=str)
def test_a_file_that_holds_no_state_of_a_training_is_named(tmp_path, content):
    torch.save(content, tmp_path / "state.pt")
    with pytest.raises(InputError, match=r"state\.pt is damaged, or holds no state"):
        read_state(tmp_path / "state.pt")


def test_the_best_epochs_weights_are_kept_and_patience_ends_it(recipe, corpus):
    greedy = changed(recipe, epochs=30, patience=2, rate=0.1, epsilon=1e-8, schedule="inverse", dropout=0.0)
    network, curve = trained(greedy, corpus, watch=(watch := Memory()))
    best = int(np.argmin([epoch["valid_perplexity"] for epoch in curve])) + 1
    assert len(curve) == best + 2 < 30
    kept = watch.states[best - 1]["network"]
    assert all(torch.equal(kept[name], tensor) for name, tensor in network.state_dict().items())


def test_an_infinite_loss_stops_and_names_epoch_and_rate(recipe, corpus):
    wild = changed(recipe, optimiser="sgd", schedule="inverse", rate=1e12)
    with pytest.raises(
        InputError, match=r"^the loss is (nan|inf) a word by step \d+ \(epoch 1\) at rate 1e\+12: lower"
    ):
        trained(wild, corpus)


def test_schedules(recipe):
    inverse = changed(recipe, schedule="inverse", rate=1e-3, rate_decay=1e-8, batch=1)
    assert rate_at(inverse, 0, 10) == 1e-3
    assert rate_at(inverse, 10**8, 10) == pytest.approx(0.5e-3)  # e_0 / (1 + r t)
    for schedule, quarter in (("cosine", 0.5 * (1 + 0.5**0.5)), ("linear", 0.75)):
        falling = changed(recipe, schedule=schedule, rate=1.0, warmup=0.1)
        rates = [rate_at(falling, step, 1000) for step in range(1000)]
        assert rates[0] < 0.02 and max(rates) == rates[100] == 1.0
        assert rates[325] == pytest.approx(quarter) and rates[550] == pytest.approx(0.5) and rates[-1] < 2e-3


def test_the_last_weights_are_averaged(recipe, corpus):
    """Those of every sixteenth step of the last half, and of the epoch's end."""
    half = changed(recipe, average=0.5, epochs=2, batch=20, weight_decay=0.0, stopping_corrected=False)
    seen = []  # of 100 steps an epoch

    class Late(Watch):
        def step(self, progress, words):
            if progress.epoch == 1 and (progress.step % 16 == 0 or progress.step == 100):
                seen.append({name: tensor.clone() for name, tensor in trainer.network.state_dict().items()})

    trainer = Trainer(build(SMALL, 50), changed(half, average=0.0), *corpus, 0, "cpu", Late())
    trainer.run()
    averaged, curve = trained(half, corpus)
    assert curve[1]["valid_perplexity"] < curve[0]["valid_perplexity"]  # else the first epoch's weights are kept
    for name, tensor in averaged.state_dict().items():
        assert torch.allclose(tensor, torch.stack([each[name] for each in seen]).mean(0), atol=1e-6), name
    judged = averaged.score(corpus.valid, corpus.train, corpus.mark)
    assert curve[1]["valid_perplexity"] == pytest.approx(evaluation.perplexity(judged))


def test_stopping_reads_blocks_spread_over_validation_or_all_of_a_small_one():
    places = stopping_places(200_000, 12_500)
    assert len(places) == 12_500 == len(set(places)) and (places[0], places[-1]) == (0, 199_999)
    assert (np.diff(places) > 1).sum() == 24
    assert (np.diff(stopping_places(50_000, 2_000)) > 1).sum() == 19
    for tokens, wanted in ((25_000, 12_500), (200_000, None)):
        assert stopping_places(tokens, wanted).tolist() == list(range(tokens))


def test_the_training_perplexity_of_some_tokens_is_theirs_and_its_error_that_of_their_blocks(recipe, corpus):
    weights, train = trained(recipe, corpus)[0].state_dict(), np.resize(corpus.train, 60_000)
    some, every = (training_perplexity.sampled(SMALL, weights, 50, train, corpus.mark, n) for n in (20_000, 30_000))
    first = training_perplexity.sampled(SMALL, weights, 50, train[:40], corpus.mark, 40)
    network = build(SMALL, 50)
    network.load_state_dict(weights)
    scored = network.score(train, train[:0], corpus.mark)
    assert every == {"train_raw": pytest.approx(evaluation.perplexity(scored))}
    assert first == {"train_raw": pytest.approx(evaluation.perplexity(scored[:40]))}  # no word of it stands before it
    assert some["train_raw"] == pytest.approx(evaluation.perplexity(scored[stopping_places(60_000, 20_000)]))
    blocks = -scored[stopping_places(60_000, 20_000)].reshape(40, 500).mean(1)
    assert some["train_raw_se"] == pytest.approx(some["train_raw"] * blocks.std(ddof=1) / 60**0.5, rel=1e-4)


def test_the_running_perplexity_is_that_of_words_and_not_of_batches(recipe, corpus):
    """At a rate that changes nothing it is the exact one, though the last of two batches has ten words, all rare."""
    train = np.concatenate([np.full(90, 2), np.arange(40, 50)])
    still = changed(recipe, optimiser="sgd", schedule="inverse", rate=1e-12, epochs=1, batch=90, order="text")
    still = changed(still, weight_decay=0.0, dropout=0.0, samples=0)
    network, curve = trained(still, corpus._replace(train=train))
    exact = evaluation.perplexity(network.score(train, train[:0], corpus.mark))
    assert curve[0]["train_perplexity"] == pytest.approx(exact, rel=1e-4)


def test_the_papers_update(recipe, corpus):
    """theta += e dL/dtheta, summed over the words of the batch."""
    paper = changed(recipe, optimiser="sgd", schedule="inverse", rate=0.1, rate_decay=0.0, samples=0, dropout=0.0)
    trainer = Trainer(build(SMALL, 50), paper, *corpus, 0, "cpu", Watch())
    before = copy.deepcopy(trainer.network)
    places = torch.tensor([7, 8, 1500])
    trainer._step(*trainer.batches.at(places))
    context = torch.tensor(contexts(corpus.train, corpus.train[:0], SMALL.n, corpus.mark)[places]).long()
    target = torch.tensor(corpus.train[places]).long()
    torch.nn.functional.cross_entropy(before(context), target, reduction="sum").backward()
    for name, parameter in trainer.network.named_parameters():
        expected = getattr(before, name) - 0.1 * getattr(before, name).grad
        assert torch.allclose(parameter, expected, atol=1e-6), name


@pytest.mark.parametrize("batch", [1, 7, 512])
def test_weights_decay_for_each_word_and_biases_do_not(recipe, corpus, batch):
    """At a rate too small for any gradient to show, with a lambda that makes up for it."""
    corpus = corpus._replace(train=corpus.train[:600])
    still = changed(recipe, optimiser="sgd", schedule="inverse", rate=1e-12, weight_decay=1e8, epochs=1, batch=batch)
    trainer = Trainer(build(SMALL, 50), still, *corpus, 0, "cpu", Watch())
    before = copy.deepcopy(trainer.network)
    after = trainer.run()
    for name in ("C", "H", "WU"):
        expected = getattr(before, name) * (1 - 1e-4) ** len(corpus.train)
        assert torch.allclose(getattr(after, name), expected, rtol=1e-3), name
    assert torch.allclose(after.b, before.b) and torch.allclose(after.d, before.d)
    visited = trained(changed(still, decayed="visited"), corpus)[0]
    context = contexts(corpus.train, corpus.train[:0], SMALL.n, corpus.mark)
    visits = torch.from_numpy(np.bincount(context.ravel(), minlength=50)).unsqueeze(1)
    assert torch.allclose(visited.C, before.C * (1 - 1e-4) ** visits, rtol=1e-3)
    assert torch.equal(visited.WU, after.WU)


def test_words_come_in_random_order_or_as_the_text_goes_on(recipe, corpus):
    for order, rising in (("random", False), ("text", True)):
        batches = Trainer(build(SMALL, 50), changed(recipe, order=order), *corpus, 0, "cpu", Watch()).batches
        batches.shuffle(np.random.default_rng(0))
        target = torch.cat([batches.step(step)[1] for step in range(batches.steps)])
        assert torch.equal(target, torch.from_numpy(corpus.train)) is rising
        assert torch.equal(target.sort()[0], torch.from_numpy(corpus.train).sort()[0])


def test_each_seed_and_each_epoch_reads_training_in_an_order_of_its_own(recipe, corpus):
    """Or the spread over seeds would be that of the first weights alone."""
    orders = set()

    class Order(Watch):
        def epoch(self, epoch):
            orders.add(tuple(trainer.batches.places.tolist()))

    for seed in (0, 1):
        trainer = Trainer(build(SMALL, 50), changed(recipe, epochs=2, patience=9), *corpus, seed, "cpu", Order())
        trainer.run()
    assert len(orders) == 4


def test_a_state_of_another_training_is_refused(recipe, corpus):
    other = Memory()
    trained(changed(recipe, epochs=1), corpus, watch=other, shape=architecture(3, 5, 3, True))
    with pytest.raises(InputError, match="of another training"):
        trained(recipe, corpus, watch=other)


def test_adam_moves_the_rows_that_a_batch_touches_and_no_others(recipe, corpus):
    """And the first step moves each of them as dense Adam does, with the same epsilon."""
    sampled = changed(recipe, dropout=0.0, schedule="inverse", rate_decay=0.0, rate=0.01, epsilon=1e-2)
    trainer = Trainer(build(SMALL, 50), sampled, *corpus, 0, "cpu", Watch())
    before = copy.deepcopy(trainer.network)
    context, target = trainer.batches.at(torch.arange(4))
    torch.manual_seed(0)
    candidates, correction = trainer.sampler.draw(target)
    torch.manual_seed(0)
    trainer._step(context, target)
    touched = {"C": context.unique(), "WU": candidates, "b": candidates}
    theirs = copy.deepcopy(before)
    theirs.sparse = False
    theirs.loss(context, target, candidates, correction).backward()
    torch.optim.Adam(theirs.parameters(), 0.01, eps=1e-2).step()
    for name, parameter in trainer.network.named_parameters():
        assert torch.allclose(parameter, getattr(theirs, name), atol=1e-6), name
        if name in touched:
            moved = (parameter != getattr(before, name)).reshape(50, -1).any(1).nonzero()[:, 0]
            assert set(moved.tolist()) <= set(touched[name].tolist()) and len(moved) > 1, name


@pytest.mark.parametrize("samples", [0, 20])
def test_frozen_features_stay(recipe, corpus, samples):
    frozen = changed(recipe, frozen=True, samples=samples, epochs=1)
    trainer = Trainer(build(SMALL, 50), frozen, *corpus, 0, "cpu", Watch())
    before = copy.deepcopy(trainer.network)
    after = trainer.run()
    assert torch.equal(after.C, before.C) and not torch.equal(after.WU, before.WU)


def test_the_curve_holds_treated_perplexities_of_the_stopping_tokens(recipe, corpus):
    """Validation words that training never shows don't look like overfitting: the correction is fitted first."""
    without = corpus._replace(train=np.where(corpus.train == 2, 3, corpus.train))
    trainer = Trainer(build(SMALL, 50), changed(recipe, epochs=1, stopping_tokens=300), *without, 0, "cpu", Watch())
    network = trainer.run()
    places = stopping_places(len(corpus.valid), 300)
    context = contexts(corpus.valid, without.train, SMALL.n, corpus.mark)[places]
    raw, ids = score(network, context, corpus.valid[places]), corpus.valid[places]
    unseen = np.bincount(without.train, minlength=50) == 0
    assert unseen[2]
    treated = evaluation.apply_correction(raw, ids, unseen, evaluation.fit_correction(raw, ids, unseen))
    assert trainer.progress.curve[0]["valid_perplexity"] == evaluation.perplexity(treated)
    assert evaluation.perplexity(treated) < evaluation.perplexity(raw)


def test_adam_on_rows_is_torchs_adam_where_all_rows_are_touched_and_leaves_the_others_alone():
    start = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
    ours, torchs = torch.nn.Parameter(start.clone()), torch.nn.Parameter(start[[1, 4]].clone())
    by_row = Adam([ours], beta1=0.9, beta2=0.99, epsilon=1e-2)
    whole = torch.optim.Adam([torchs], 0.1, betas=(0.9, 0.99), eps=1e-2)
    for step in range(5):
        torchs.grad = torch.randn(2, 4, generator=torch.Generator().manual_seed(step))
        rows, parts = torch.tensor([[1, 4]]), torchs.grad  # as of a step's candidates
        if step % 2:  # as of a word that stands in a batch twice
            rows, parts = torch.tensor([[4, 1, 1]]), torch.stack([parts[1], parts[0] / 2, parts[0] / 2])
        ours.grad = torch.sparse_coo_tensor(rows, parts, (6, 4), check_invariants=True)
        by_row.step(0.1, words=1)
        whole.step()
        if step == 2:  # taken up again
            moments = copy.deepcopy(by_row.moments)
            by_row = Adam([ours], beta1=0.9, beta2=0.99, epsilon=1e-2)
            by_row.moments = moments
    assert torch.allclose(ours[[1, 4]], torchs, atol=1e-6)
    assert torch.equal(ours[[0, 2, 3, 5]], start[[0, 2, 3, 5]])
