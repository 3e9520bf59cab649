"""Two ranks on gloo give the losses and the learning curve of one process, to float rounding."""

import os

import numpy as np
import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing
from conftest import architecture, changed, settings

from pipeline.core import parallel
from pipeline.core.networks.registry import build
from pipeline.core.training.trainer import Trainer, Watch

SHAPE = architecture(3, 4, 3, True)
V = 60


class Watched(Trainer):
    """Remembers the loss of each step."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.losses = []

    def _step(self, context, target):
        self.losses.append(float(loss := super()._step(context, target)))
        return loss


def trained(network, recipe):
    """The loss of each step, and the learning curve."""
    random = np.random.default_rng(0)
    train, valid = (random.zipf(1.5, words).clip(max=V - 1) for words in (999, 500))
    trainer = Watched(network, recipe, train, valid, 1, 0, "cpu", Watch())
    trainer.run()
    curve = [(epoch["train_perplexity"], epoch["valid_perplexity"]) for epoch in trainer.progress.curve]
    return np.array(trainer.losses), np.array(curve)


KINDS = ("DataParallel", "ParameterParallel")
SAMPLES = (0, 20)


def rank(number, recipe, folder):
    """Trains with each kind and number of samples, as one of two ranks."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=number, world_size=2)
    for kind in KINDS:
        for samples in SAMPLES:
            network = getattr(parallel, kind)(SHAPE, V)
            losses, curve = trained(network, changed(recipe, samples=samples))
            left = {"losses": losses, "curve": curve, "bytes": network.exchange.bytes, "WU": len(network.WU)}
            np.savez(f"{folder}/{kind}-{samples}-{number}.npz", **left)
    dist.destroy_process_group()


def test_two_ranks_train_as_one(tmp_path, monkeypatch):
    """With the full and the sampled softmax and with dropout."""
    monkeypatch.setitem(os.environ, "GLOO_SOCKET_IFNAME", "lo")
    recipe = changed(settings("train").recipe, bfloat16=False, batch=30, epochs=2, dropout=0.3)
    torch.multiprocessing.spawn(rank, (recipe, str(tmp_path)), nprocs=2)
    for samples in SAMPLES:
        losses, curve = trained(build(SHAPE, V), changed(recipe, samples=samples))
        assert len(losses) == 2 * 34 and losses.min() > 1  # nats a word: the comparison below is of real losses
        for kind in KINDS:
            for number in (0, 1):
                left = np.load(tmp_path / f"{kind}-{samples}-{number}.npz")
                assert left["losses"] == pytest.approx(losses, rel=1e-4)
                assert left["curve"] == pytest.approx(curve, rel=1e-4)
                assert left["WU"] == (V if kind == "DataParallel" else V // 2)
                assert left["bytes"] > 0


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_process_group_it_is_the_network_alone(kind):
    recipe = changed(settings("train").recipe, bfloat16=False, batch=30, samples=20, epochs=1)
    alone, alone_curve = trained(build(SHAPE, V), recipe)
    network = getattr(parallel, kind)(SHAPE, V)
    losses, curve = trained(network, recipe)
    assert losses == pytest.approx(alone, rel=1e-5) and curve == pytest.approx(alone_curve, rel=1e-5)
    assert network.exchange.bytes == 0
