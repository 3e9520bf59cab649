"""Intervals over texts, and verdicts on claims."""

import numpy as np
import pandas as pd
import pytest

from pipeline import claims
from pipeline.data import evaluation
from pipeline.data.errors import InputError
from pipeline.reporting import resampling
from pipeline.reporting.table import Mixed, Table

RANDOM = np.random.default_rng(0)
TOKENS = RANDOM.integers(500, 1500, 80)
FIRSTS = np.concatenate([[0], np.cumsum(TOKENS)[:-1]])


def stream(level, spread, noise=0.5):
    """Log-probabilities whose mean differs from text to text."""
    of_text = np.repeat(RANDOM.normal(level, spread, len(TOKENS)), TOKENS)
    return (of_text + RANDOM.normal(0, noise, len(of_text))).astype(np.float32)


def test_the_estimate_is_the_perplexity_of_all_tokens():
    log_p = stream(-5.5, 0.3)
    found = resampling.perplexity(resampling.text_sums(log_p, FIRSTS), TOKENS)
    assert found.value == pytest.approx(evaluation.perplexity(log_p), rel=1e-9)
    assert found.low < found.value < found.high
    # The spread over texts decides: the standard error of the mean log-probability is about .3 / sqrt(80).
    width = np.log(found.high / found.low)
    assert width == pytest.approx(2 * 1.96 * 0.3 / 80**0.5, rel=0.25)


def test_a_ratio_is_paired():
    """Two models that differ by a constant on every text have a ratio without spread, however different the texts."""
    log_p = stream(-5.5, 0.3)
    sums = resampling.text_sums(log_p, FIRSTS)
    found = resampling.ratio(sums, sums + 0.1 * TOKENS, TOKENS)
    assert [found.value, found.low, found.high] == pytest.approx([np.exp(0.1)] * 3)


def test_the_interval_holds_the_truth_as_often_as_it_says():
    hits = 0
    for _ in range(60):
        a, b = stream(-5.5, 0.1, 0), stream(-5.4, 0.1, 0)
        found = resampling.ratio(*(resampling.text_sums(x, FIRSTS) for x in (a, b)), TOKENS)
        hits += found.low < np.exp(0.1) < found.high
    assert 51 <= hits <= 60


@pytest.mark.parametrize(
    ("low", "high", "least", "most", "says"),
    [
        (0.02, 0.05, 0.0, 9.0, "yes"),
        (-0.01, 0.05, 0.0, 9.0, "open"),
        (-0.05, -0.01, 0.0, 9.0, "no"),
        (0.02, 0.05, 0.2, 9.0, "no"),
        (-0.004, 0.009, -0.01, 0.01, "yes"),
        (-0.004, 0.02, -0.01, 0.01, "open"),
        (0.02, 0.03, -0.01, 0.01, "no"),
        (-0.03, -0.02, -0.01, 0.01, "no"),
        (-0.03, -0.02, -1.0, 0.01, "yes"),
    ],
)
def test_a_claim_holds_where_its_whole_interval_says_so(low, high, least, most, says):
    assert claims.verdict(claims.Claim("x", "a", "b", least=least, most=most), low, high) == says


def curves(folder, **perplexities):
    """Learning curves of networks below a folder, a perplexity an epoch."""
    for name, curve in perplexities.items():
        (folder / name / "0").mkdir(parents=True)
        frame = pd.DataFrame({"epoch": range(1, len(curve) + 1), "valid_perplexity": curve})
        frame.to_csv(folder / name / "0" / "curve.csv", index=False)


def seeds(*numbers):
    """A table of models with these seeds."""
    return Table(list(numbers), {}, Mixed([], []), [], {}, [], True, [], "dvc.yaml", [])


def test_epochs_are_counted_to_near_the_best(tmp_path, few):
    curves(tmp_path, quick=[400, 302, 300, 310], slow=[500, 400, 350, 310, 296, 295])
    claim = claims.Epochs("x", "quick", "slow", paper=1.0, least=0.5)
    config = claims.Config([], [claim], [], "epochs", "test", seeds(0), str(few), [str(tmp_path)], str(tmp_path), "")
    claims.main(config)
    line = pd.read_csv(tmp_path / "epochs.csv").iloc[0]
    assert line["ours"] == 5 / 2 - 1 and line["holds"] == "yes" and pd.isna(line["low"])
    assert "+150.0%" in (tmp_path / "epochs.md").read_text()


@pytest.mark.parametrize(
    ("quick", "slow", "holds"),
    [
        ([400, 300, 310], [500, 400, 310, 320], "no"),  # both ended: 2 epochs and 3
        ([400, 300, 310], [500, 400, 310, 300], "yes"),  # 4 epochs or more
        ([400, 300, 310], [500, 400, 310], "open"),  # 3 or more
        ([400, 300], [500, 400, 310, 300, 310], "open"),  # quick might have needed more
    ],
)
def test_of_a_training_that_was_cut_off_the_least_is_said(quick, slow, holds):
    claim = claims.Epochs("x", "quick", "slow", least=0.8)
    series = [pd.Series(curve, index=range(1, len(curve) + 1)) for curve in (quick, slow)]
    assert claims.sooner(claim, *series)[1] == holds


@pytest.mark.parametrize(("last", "holds"), [(290, "yes"), (300, "no"), (301, "no")])
def test_a_network_overfits_where_its_last_epoch_is_not_its_best(tmp_path, few, last, holds):
    curves(tmp_path, large=[400, 300, 310, last])
    claim = claims.Falling("no overfitting", "large")
    claims.main(claims.Config([], [], [claim], "c", "test", seeds(0), str(few), [str(tmp_path)], str(tmp_path), ""))
    line = pd.read_csv(tmp_path / "c.csv").iloc[0]
    assert line["holds"] == holds and line["ours"] == pytest.approx(300 / last - 1, abs=1e-4)


def test_a_claim_refuses_a_part_of_the_seeds(tmp_path, few):
    for seed in ("0", "2"):
        (tmp_path / "a" / seed).mkdir(parents=True)
    claim = claims.Claim("x", "a", "a")
    config = claims.Config([claim], [], [], "c", "test", seeds(0, 1, 2), str(few), [str(tmp_path)], "out", "")
    with pytest.raises(InputError, match=r"no predictions of a/1 in .*: run the stage"):
        claims.main(config)
