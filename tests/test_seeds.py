"""Everything that a network draws comes from its seed, in any family that stock modules build."""

import sys
from types import ModuleType

import numpy as np
import pytest
import torch
from conftest import architecture, changed, settings
from test_families import SHAPES
from torch import nn

from pipeline.core import families
from pipeline.core.networks import base
from pipeline.core.training.train import train
from pipeline.core.training.trainer import Watch

V = 20


class GruNetwork(base.Network):
    """A recurrent unit of torch's over the words before, whose biases torch itself draws; y = b + U s."""

    tables = ("C", "U", "b")

    def __init__(self, architecture, vocabulary):
        super().__init__(architecture)
        self.C = nn.Parameter(torch.zeros(vocabulary, architecture.m))
        self.unit = nn.GRU(architecture.m, architecture.h, batch_first=True)
        self.U = nn.Parameter(torch.zeros(vocabulary, architecture.h))
        self.b = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, context, words=None):
        _, state = self.unit(self.features(context))
        return self.output(state[0], self.U, words)


GRU = ModuleType("gru")
GRU.GruNetwork = GruNetwork


@pytest.fixture
def ids():
    random = np.random.default_rng(0)
    return {
        split: random.integers(V, size=size).astype(np.int32)
        for split, size in (("train", 300), ("valid", 60), ("test", 60))
    }


def weights(ids, shape, seed):
    """What a training of one epoch leaves, whatever was drawn before it."""
    torch.randn(1)
    recipe = changed(settings("train").recipe, batch=2 * (shape.n - 1), samples=10, epochs=1, bfloat16=False)
    trained = train(ids, V, 1, shape, recipe, seed, "cpu", "none", ["valid"], Watch())
    return trained.weights | {"valid": torch.from_numpy(trained.scored["valid"])}


@pytest.mark.parametrize("name", [*SHAPES, "gru"])
def test_a_seed_decides_every_bit(name, ids, monkeypatch):
    monkeypatch.setitem(sys.modules, f"{families.__name__}.gru", GRU)
    shape = SHAPES.get(name) or architecture(4, 5, 3).model_copy(update={"family": "gru"})
    once, again, other = (weights(ids, shape, seed) for seed in (3, 3, 4))
    assert all(torch.equal(once[part], again[part]) for part in once)
    drawn = [part for part in once if once[part].numel() and part != "b"]
    assert not any(torch.equal(once[part], other[part]) for part in drawn if once[part].dim() > 1)
