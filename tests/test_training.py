"""Training: equal seeds give equal bits, a killed run ends as an uninterrupted one, and the paper's updates."""

import copy
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
import torch
from conftest import composed

from pipeline import train
from pipeline.core.common import evaluation
from pipeline.core.networks.base import Architecture, Deep, build, contexts, score
from pipeline.core.training.optimiser import RowAdam, rate_at
from pipeline.core.training.trainer import DivergenceError, Trainer, stopping_tokens
from pipeline.data.errors import InputError
from pipeline.running.checkpoint import Forgetful

SMALL = Architecture(3, 4, 3, True)


class Ids(NamedTuple):
    """Two splits of fifty words, and the text mark."""

    train: np.ndarray
    valid: np.ndarray
    mark: int = 1


@pytest.fixture(scope="module")
def recipe():
    return replace(composed("train", train.Config).recipe, batch=16, samples=20, epochs=3, bfloat16=False)


@pytest.fixture(scope="module")
def corpus():
    random = np.random.default_rng(0)
    return Ids(random.zipf(1.5, 2000).clip(max=49), random.zipf(1.5, 900).clip(max=49))


def trained(recipe, corpus, seed=0, checkpoint=None, shape=SMALL, **options):
    trainer = Trainer(build(shape, 50), recipe, *corpus, seed, "cpu", checkpoint or Forgetful())
    network = trainer.run(**options)
    return network, trainer.progress.curve


class KillError(Exception):
    """Stands for the end of the process."""


class Memory:
    """A checkpoint that saves at every tick."""

    state = None

    def tick(self, save):
        save()

    def write(self, state):
        self.state = copy.deepcopy(state)

    def read(self):
        return copy.deepcopy(self.state)


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def test_same_seed_same_bits_and_another_seed_others(recipe, corpus):
    first, curve = trained(recipe, corpus)
    again, curve_again = trained(recipe, corpus)
    other, _ = trained(recipe, corpus, seed=1)
    assert same(first, again) and curve == curve_again
    assert not same(first, other)


def killed_at(step, run, checkpoint):
    """Runs a training that keeps its state in a checkpoint, and ends it after so many steps."""
    steps = iter(range(1, 10_000))

    def on_step(progress, words):
        if next(steps) == step:
            raise KillError

    with pytest.raises(KillError):
        run(checkpoint=checkpoint, on_step=on_step)


@pytest.mark.parametrize("optimiser", ["adam", "ascent"])
@pytest.mark.parametrize("step", [1, 64, 65, 125, 200, 374])
def test_a_killed_training_ends_with_the_numbers_of_an_uninterrupted_one(recipe, corpus, optimiser, step):
    run = partial(trained, replace(recipe, optimiser=optimiser), corpus)
    (whole, curve), checkpoint, told = run(), Memory(), []
    killed_at(step, run, checkpoint)
    resumed, curve_resumed = run(checkpoint=checkpoint, on_epoch=told.append)
    assert same(whole, resumed) and curve == curve_resumed
    assert told and [epoch.epoch for epoch in told] == list(range(4 - len(told), 4))  # of the new epochs alone


@pytest.mark.parametrize("step", [1, 64, 70, 200])
def test_a_killed_training_of_streams_ends_with_the_same_numbers(recipe, corpus, step):
    """What is carried from step to step is in the checkpoint, and the averaged weights are."""
    deep = Deep(2, input_dropout=0.2, layer_dropout=0.2, word_dropout=0.2, weight_dropout=0.2, locked=True)
    shape = Architecture(5, 4, 3, family="lstm", deep=deep)
    run = partial(trained, replace(recipe, dropout=0.2, average=0.5), corpus, shape=shape)
    checkpoint = Memory()
    killed_at(step, run, checkpoint)
    assert same(run()[0], run(checkpoint=checkpoint)[0])


def test_a_checkpoint_of_another_training_is_named(recipe, corpus):
    checkpoint = Memory()
    trained(recipe, corpus, checkpoint=checkpoint)
    whole = checkpoint.state
    for state in ({"a": 1}, whole | {"network": {}}, whole | {"progress": {"b": 2}}):
        checkpoint.state = state
        with pytest.raises(InputError, match="is of another training, or damaged"):
            trained(recipe, corpus, checkpoint=checkpoint)


def test_the_best_epochs_weights_are_kept_and_patience_ends_it(recipe, corpus):
    greedy = replace(recipe, epochs=30, patience=2, rate=0.1, epsilon=1e-8, schedule="inverse", dropout=0.0)
    trainer = Trainer(build(SMALL, 50), greedy, *corpus, 0, "cpu", Forgetful())
    kept = {}
    trainer.run(on_epoch=lambda epoch: kept.update({epoch.epoch: copy.deepcopy(trainer.network.state_dict())}))
    curve = [epoch["valid_perplexity"] for epoch in trainer.progress.curve]
    best = int(np.argmin(curve)) + 1
    assert len(curve) == best + 2 < 30
    assert all(torch.equal(kept[best][name], tensor) for name, tensor in trainer.network.state_dict().items())


def test_an_infinite_loss_stops_and_names_step_and_rate(recipe, corpus):
    wild = replace(recipe, optimiser="ascent", schedule="inverse", rate=1e12)
    with pytest.raises(DivergenceError, match=r"loss is (nan|inf) a word by step \d+ \(epoch 1\) at rate 1e\+12"):
        trained(wild, corpus)


def test_schedules(recipe):
    inverse = replace(recipe, schedule="inverse", rate=1e-3, rate_decay=1e-8, batch=1)
    assert rate_at(inverse, 0, 10) == 1e-3
    assert rate_at(inverse, 10**8, 10) == pytest.approx(0.5e-3)  # e_0 / (1 + r t)
    for schedule, quarter in (("cosine", 0.5 * (1 + 0.5**0.5)), ("linear", 0.75)):
        falling = replace(recipe, schedule=schedule, rate=1.0, warmup=0.1)
        rates = [rate_at(falling, step, 1000) for step in range(1000)]
        assert rates[0] < 0.02 and max(rates) == rates[100] == 1.0
        assert rates[325] == pytest.approx(quarter) and rates[550] == pytest.approx(0.5) and rates[-1] < 2e-3


def test_the_last_weights_are_averaged(recipe, corpus):
    """Those of every sixteenth step of the last half, and of the epoch's end; a killed training averages the same."""
    half = replace(recipe, average=0.5, epochs=2, batch=20, weight_decay=0.0)  # 100 steps an epoch
    plain, seen = replace(half, average=None), []

    def on_step(progress, words):
        if progress.epoch == 1 and (progress.step % 16 == 0 or progress.step == 100):
            seen.append({name: tensor.clone() for name, tensor in trainer.network.state_dict().items()})

    trainer = Trainer(build(SMALL, 50), plain, *corpus, 0, "cpu", Forgetful())
    trainer.run(on_step=on_step)
    averaged, curve = trained(half, corpus)
    assert curve[1]["valid_perplexity"] < curve[0]["valid_perplexity"]  # else the first epoch's weights are kept
    for name, tensor in averaged.state_dict().items():
        assert torch.allclose(tensor, torch.stack([each[name] for each in seen]).mean(0), atol=1e-6), name

    checkpoint, run = Memory(), partial(trained, half, corpus)
    killed_at(170, run, checkpoint)
    assert same(averaged, run(checkpoint=checkpoint)[0])


def test_stopping_reads_every_fourth_block():
    assert stopping_tokens(11, block=2, every=4).tolist() == [0, 1, 8, 9]


def test_the_papers_update(recipe, corpus):
    """theta += e dL/dtheta, summed over the words of the batch."""
    paper = replace(recipe, optimiser="ascent", schedule="inverse", rate=0.1, rate_decay=0.0, samples=0, dropout=0.0)
    trainer = Trainer(build(SMALL, 50), paper, *corpus, 0, "cpu", Forgetful())
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
    still = replace(recipe, optimiser="ascent", schedule="inverse", rate=1e-12, weight_decay=1e8, epochs=1, batch=batch)
    trainer = Trainer(build(SMALL, 50), still, *corpus, 0, "cpu", Forgetful())
    before = copy.deepcopy(trainer.network)
    after = trainer.run()
    for name in ("C", "H", "WU"):
        expected = getattr(before, name) * (1 - 1e-4) ** len(corpus.train)
        assert torch.allclose(getattr(after, name), expected, rtol=1e-3), name
    assert torch.allclose(after.b, before.b) and torch.allclose(after.d, before.d)


def test_adam_moves_the_rows_that_a_batch_touches_and_no_others(recipe, corpus):
    """And the first step moves each of them as dense Adam does, with the same epsilon."""
    sampled = replace(recipe, dropout=0.0, schedule="inverse", rate_decay=0.0, rate=0.01, epsilon=1e-2)
    trainer = Trainer(build(SMALL, 50), sampled, *corpus, 0, "cpu", Forgetful())
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
    frozen = replace(recipe, frozen=True, samples=samples, epochs=1)
    trainer = Trainer(build(SMALL, 50), frozen, *corpus, 0, "cpu", Forgetful())
    before = copy.deepcopy(trainer.network)
    after = trainer.run()
    assert torch.equal(after.C, before.C) and not torch.equal(after.WU, before.WU)


def test_the_curve_holds_treated_perplexities_of_the_stopping_tokens(recipe, corpus):
    """Validation words that training never shows don't look like overfitting: their share is fitted first."""
    without = corpus._replace(train=np.where(corpus.train == 2, 3, corpus.train))
    trainer = Trainer(build(SMALL, 50), replace(recipe, epochs=1, stopping_block=50), *without, 0, "cpu", Forgetful())
    network = trainer.run()
    places = stopping_tokens(len(corpus.valid), 50, recipe.stopping_every)
    context = contexts(corpus.valid, without.train, SMALL.n, corpus.mark)[places]
    raw, ids, unseen = (
        score(network, context, corpus.valid[places]),
        corpus.valid[places],
        np.arange(50) == 2,
    )
    unseen |= np.bincount(without.train, minlength=50) == 0
    treated = evaluation.apply_share(raw, ids, unseen, evaluation.fit_share(raw, ids, unseen))
    assert trainer.progress.curve[0]["valid_perplexity"] == evaluation.perplexity(treated)
    assert evaluation.perplexity(treated) < evaluation.perplexity(raw)


def test_adam_on_rows_is_torchs_adam_where_all_rows_are_touched_and_leaves_the_others_alone():
    start, values = torch.randn(6, 4, generator=torch.Generator().manual_seed(0)), {"lr": 0.1, "betas": (0.9, 0.99)}
    ours, torchs = torch.nn.Parameter(start.clone()), torch.nn.Parameter(start[[1, 4]].clone())
    by_row, whole = RowAdam([ours], **values, eps=1e-2), torch.optim.Adam([torchs], **values, eps=1e-2)
    for step in range(5):
        torchs.grad = torch.randn(2, 4, generator=torch.Generator().manual_seed(step))
        rows, parts = torch.tensor([[1, 4]]), torchs.grad  # as of a step's candidates
        if step % 2:  # as of a word that stands in a batch twice
            rows, parts = torch.tensor([[4, 1, 1]]), torch.stack([parts[1], parts[0] / 2, parts[0] / 2])
        ours.grad = torch.sparse_coo_tensor(rows, parts, (6, 4), check_invariants=True)
        by_row.step()
        whole.step()
        if step == 2:  # taken up again
            state = by_row.state_dict()
            by_row = RowAdam([ours], **values, eps=1e-2)
            by_row.load_state_dict(state)
    assert torch.allclose(ours[[1, 4]], torchs, atol=1e-6)
    assert torch.equal(ours[[0, 2, 3, 5]], start[[0, 2, 3, 5]])
