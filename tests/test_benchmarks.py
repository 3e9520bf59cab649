"""The benchmark compares like with like, and its sums are right."""

from importlib import import_module

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import architecture

from benchmarks import contestants, race, records, setting, zipf
from benchmarks.contestants import full
from pipeline.core.families.feedforward import FeedforwardNetwork
from pipeline.core.networks.base import contexts


def task(direct: bool, **changes) -> contestants.Task:
    """Ten words that follow each other in a circle."""
    target = np.arange(1, 3001) % 10
    corpus = setting.Ids(target, target[:500], 10, 0)
    context = torch.from_numpy(contexts(target, target[:0], 3, 0).astype(np.int64))
    recipe = setting.recipe(epochs=6, patience=6, batch=64, samples=4, rate=0.03, weight_decay=1e-6, **changes)
    counts = torch.from_numpy(np.bincount(target)).float()
    return contestants.Task(architecture(3, 5, 4, direct), recipe, corpus, counts, context, torch.from_numpy(target))


@pytest.mark.parametrize("who", race.CONTESTANTS)
def test_each_contestant_learns_and_gives_probabilities(who, monkeypatch):
    torch.manual_seed(0)
    with torch.compiler.set_stance("force_eager"):  # compiling takes half a minute
        given = task(True, dropout=0.0)
        network, seconds = import_module(f"benchmarks.contestants.{who}").train(given)
    network.eval()
    with torch.no_grad():
        context = given.context[100:101].expand(10, -1)
        of_all = network.log_probabilities(context, torch.arange(10))
        right = network.log_probabilities(given.context[3:100], given.target[3:100])
    assert of_all.exp().sum() == pytest.approx(1, abs=1e-4)
    assert right.exp().mean() > 0.8 and seconds > 0 and len(given.steps) == 6 * 47


@pytest.mark.parametrize("direct", [True, False])
def test_the_stock_network_is_the_same_function_as_ours(direct):
    theirs, ours = full.Network(task(direct)).eval(), FeedforwardNetwork(architecture(3, 5, 4, direct), 10)
    with torch.no_grad():
        ours.C.copy_(theirs.embedding.weight)
        ours.H.copy_(theirs.hidden.weight)
        ours.d.copy_(theirs.hidden.bias)
        ours.WU.copy_(theirs.output.weight)
        ours.b.copy_(theirs.output.bias)
    context, target = torch.randint(10, (7, 2)), torch.randint(10, (7,))
    assert torch.allclose(theirs.log_probabilities(context, target), ours.log_probabilities(context, target), atol=1e-6)


def test_the_race_counts_seconds_of_the_whole_machine(monkeypatch):
    """Against each line of another: the fastest of ours that is as good or better."""
    monkeypatch.setattr(race, "CORES", 2)
    columns = [
        "who",
        "epochs",
        "once",
        "pace",
        "words",
        "raw",
        "corrected",
        "seconds",
        "MB",
        "alone",
        "rate",
        "dropout",
    ]
    rest = [70.0, 9.0, 1e-3, 0.01, 0.2]
    runs = pd.DataFrame(
        [
            ["sparse", 1, 0.0, 0.04, 1000, 330.0, 320.0, *rest],
            ["sparse", 2, 0.0, 0.04, 2000, 310.0, 300.0, *rest],
            ["full", 2, 100.0, 0.4, 2000, 299.0, 290.0, *rest],
            ["compiled", 0, 100.0, 0.4, 2000, np.nan, np.nan, *rest],
            ["ours", 1, 0.0, 0.02, 1000, 330.0, 320.0, *rest],
            ["ours", 2, 0.0, 0.025, 2000, 309.0, 299.0, *rest],
        ],
        columns=columns,
    ).assign(model="mlp9", weight_decay=0.0)
    table = race.table(runs).loc["mlp9"]
    assert table["s of the machine"].fillna(-1).tolist() == [20, 40, 450, -1, 10, 25]
    assert table["words/s of the machine"].tolist() == [50, 50, 5, 5, 100, 80]
    assert table["words/s on all cores"].tolist() == [1000] * 6
    assert table["times ours"].fillna(-1).tolist() == [2, 1.6, 0, -1, 1, 1]
    assert list(records.record(table.reset_index(), 300.0).values()) == [300.0, 25, "sparse", 40, "by paces"]
    assert list(records.record(table.reset_index(), 291.0).values()) == [291.0, "not reached", "full", 450, "by paces"]


def test_synthetic_ids_follow_zipf():
    ids = zipf.ids(100_000, 1000)
    counts = pd.Series(ids).value_counts()
    assert counts[0] / counts[10] == pytest.approx(12.7 / 2.7, rel=0.1) and ids.max() < 1000
