"""The benchmark compares like with like, and its sums are right."""

from types import SimpleNamespace

import pandas as pd
import pytest
import torch

from benchmarks import __main__ as command
from benchmarks import plain, race, zipf
from pipeline.networks.base import Architecture


@pytest.mark.parametrize("direct", [True, False])
def test_the_plain_network_is_the_same_function_as_ours(direct):
    torch.manual_seed(0)
    network = plain.Plain(Architecture(4, 5, 3, direct), 20, torch.randn(20))
    context = torch.randint(20, (7, 3))
    assert torch.allclose(network(context), network.as_network()(context), atol=1e-6)


def test_the_plain_loop_learns_and_tells_its_words():
    torch.manual_seed(0)
    network = plain.Plain(Architecture(2, 4, 3, False), 10, torch.zeros(10))
    context = torch.arange(1000)[:, None] % 10
    target = (context[:, 0] + 1) % 10
    looks = plain.train(network, context, target, rate=0.05, looks=2)
    seen = [next(looks) for _ in range(60)]
    assert [words for _, words in seen[:4]] == [512, 1000, 1512, 2000]
    assert sorted(seconds for seconds, _ in seen) == [seconds for seconds, _ in seen]
    assert (network(context).argmax(1) == target).float().mean() > 0.85


def test_the_summary_counts_seconds_of_the_whole_machine(monkeypatch):
    monkeypatch.setattr(race, "CORES", 2)
    figures = ["seconds", "words", "perplexity", "model", "who", "choice", "seed", "peak_memory_mb"]
    curves = pd.DataFrame(
        [
            (100.0, 1000, 310.0, "mlp9", "plain", "rate 1", 0, 9.0),
            (200.0, 2000, 300.0, "mlp9", "plain", "rate 1", 0, 9.0),
            (300.0, 3000, 305.0, "mlp9", "plain", "rate 1", 0, 9.0),
            (50.0, 1000, 320.0, "mlp9", "plain", "rate 2", 0, 9.0),
            (10.0, 1000, 320.0, "mlp9", "ours", "2 epochs", 0, 5.0),
            (20.0, 2000, 299.0, "mlp9", "ours", "2 epochs", 0, 5.0),
            (10.0, 1000, 299.0, "mlp9", "ours", "2 epochs", 1, 5.0),
            (20.0, 2000, 290.0, "mlp9", "ours", "2 epochs", 1, 5.0),
            (5.0, 1000, 299.0, "mlp9", "ours", "1 epoch", 0, 5.0),
            (5.0, 1000, 301.0, "mlp9", "ours", "1 epoch", 1, 5.0),
        ],
        columns=figures,
    )
    summary = race.summary(curves)
    seconds = summary["seconds to goal"].xs("mlp9")
    assert seconds["plain", "rate 1"] == 200 and seconds["plain", "rate 2"] == float("inf")
    assert seconds["ours", "2 epochs"] == 7.5  # 20 and 10 s, two networks at a time
    assert seconds["ours", "1 epoch"] == float("inf")  # one seed of two does not reach it
    assert summary["words/s"].xs("mlp9")["ours", "2 epochs"] == 200
    assert summary["words/s"].xs("mlp9")["plain", "rate 1"] == 10


def test_synthetic_ids_follow_zipf():
    ids = zipf.ids(100_000, 1000)
    counts = pd.Series(ids).value_counts()
    assert counts[0] / counts[10] == pytest.approx(12.7 / 2.7, rel=0.1) and ids.max() < 1000


def test_without_arguments_every_part_is_measured_and_reported(monkeypatch, tmp_path):
    """A part measured alone later leaves the others' figures in the report."""
    (tmp_path / "reports").mkdir()
    monkeypatch.chdir(tmp_path)
    figures = {"size": ["small", "large"], "words": [500, 1_000_000], "seconds": [1.5, 64721.5]}
    figures = pd.DataFrame(figures).set_index("size")
    part = SimpleNamespace(__doc__="How long it takes.\n\nAs one sees.", run=lambda: figures)
    monkeypatch.setattr(command, "PARTS", {"first": part, "second": part})
    monkeypatch.setattr(command, "machine", lambda: "this machine")
    command.main([])
    command.main(["second"])
    report = (tmp_path / "reports" / "benchmark.md").read_text()
    assert report.count("## How long it takes") == 2 and report.count("this machine") == 2
    assert all(number in report for number in (" 1.5 ", " 64,722 ", " 500 ", " 1,000,000 "))
    with pytest.raises(SystemExit):
        command.main(["third"])


def test_a_race_takes_up_curves_of_the_same_code_alone(tmp_path, monkeypatch):
    """Of uncommitted changes nothing says which they were."""
    monkeypatch.setattr(race, "DONE", tmp_path / "race")
    monkeypatch.setattr(race, "summary", lambda curves: curves)
    measured = []

    def in_processes(function, arguments):
        measured.append(function.__name__)
        return [pd.DataFrame({"perplexity": [1.0]})]

    monkeypatch.setattr(race.setting, "in_processes", in_processes)
    for dirty, left, before in (("false", "c", 2), ("true", "c-dirty", 0), ("false", "c-dirty", 0)):
        monkeypatch.setattr(race.tracking, "code_state", lambda *paths, dirty=dirty: {"commit": "c", "dirty": dirty})
        (tmp_path / "race" / left).mkdir(parents=True)
        for curve in ("mlp1-plain-0.001", "mlp1-ours-1"):
            (tmp_path / "race" / left / f"{curve}.csv").write_text("perplexity\n2.0\n")
        measured.clear()
        assert (race.run()["perplexity"] == 2).sum() == before
        assert len(measured) == 16 - before and not (tmp_path / "race").exists()
