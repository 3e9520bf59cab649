"""Intervals over texts, and verdicts on claims."""

import numpy as np
import pandas as pd
import pytest
from conftest import filled

from pipeline import claims
from pipeline.config.claims import Claim, Claims, Epochs, Falling, Pair
from pipeline.config.tables import Row, Table
from pipeline.core.common import evaluation
from pipeline.core.common.errors import InputError
from pipeline.data.corpus import read_corpus
from pipeline.reporting import resampling

RANDOM = np.random.default_rng(0)
TOKENS = RANDOM.integers(500, 1500, 80)
FIRSTS = np.concatenate([[0], np.cumsum(TOKENS)[:-1]])


def stream(level, spread, noise=0.5):
    """Log-probabilities whose mean differs from text to text."""
    of_text = np.repeat(RANDOM.normal(level, spread, len(TOKENS)), TOKENS)
    return (of_text + RANDOM.normal(0, noise, len(of_text))).astype(np.float32)


def test_the_estimate_is_the_perplexity_of_all_tokens():
    log_p = stream(-5.5, 0.3)
    own = resampling.perplexity(resampling.text_sums(log_p, FIRSTS), TOKENS)
    assert own.value == pytest.approx(evaluation.perplexity(log_p), rel=1e-9)
    assert own.low < own.value < own.high
    # The spread over texts decides: the standard error of the mean log-probability is about .3 / sqrt(80).
    width = np.log(own.high / own.low)
    assert width == pytest.approx(2 * 1.96 * 0.3 / 80**0.5, rel=0.25)


def test_a_mean_is_over_tokens_and_not_over_texts():
    """Of a short text and one of a hundred times its length, each with a level of its own."""
    tokens = np.array([100, 9900])
    sums, others = tokens * [-1.0, -5.0], tokens * [-3.0, -5.1]
    mean, gain = -(100 * -1.0 + 9900 * -5.0) / 10_000, (100 * -2.0 + 9900 * -0.1) / 10_000
    assert resampling.perplexity(sums, tokens).value == pytest.approx(np.exp(mean))
    assert resampling.ratio(sums, others, tokens).value == pytest.approx(np.exp(gain))
    assert resampling.ratio_of_seeds(sums[None], others[None], tokens).value == pytest.approx(np.exp(gain))


def test_a_ratio_is_paired():
    """Two models that differ by a constant on every text have a ratio without spread, however different the texts."""
    log_p = stream(-5.5, 0.3)
    sums = resampling.text_sums(log_p, FIRSTS)
    ratio = resampling.ratio(sums, sums + 0.1 * TOKENS, TOKENS)
    assert [ratio.value, ratio.low, ratio.high] == pytest.approx([np.exp(0.1)] * 3)


def test_the_interval_holds_the_truth_as_often_as_it_says():
    hits = 0
    for _ in range(60):
        a, b = stream(-5.5, 0.1, 0), stream(-5.4, 0.1, 0)
        ratio = resampling.ratio(*(resampling.text_sums(x, FIRSTS) for x in (a, b)), TOKENS)
        hits += ratio.low < np.exp(0.1) < ratio.high
    assert 51 <= hits <= 60


def test_over_few_parts_it_is_wide_enough():
    """Five: as they are resampled the truth is missed one time in five."""
    random, tokens, inside = np.random.default_rng(1), np.full(5, 1000), 0
    for _ in range(200):
        others = random.normal(50, 30, 5)
        ratio = resampling.widened(resampling.ratio(np.zeros(5), others, tokens), 5)
        inside += ratio.low < np.exp(0.05) < ratio.high
    assert 0.9 < inside / 200 < 0.99


def test_the_spread_of_seeds_is_added_to_that_of_texts():
    """Student's with one degree of freedom: 12.7 standard errors, of two seeds whose log ratios are .01 apart."""
    sums = resampling.text_sums(stream(-5.5, 0.3), FIRSTS)
    seeds = np.stack([sums - 0.005 * TOKENS, sums + 0.005 * TOKENS])
    ratio = resampling.ratio_of_seeds(seeds, (sums + 0.1 * TOKENS)[None], TOKENS)
    assert ratio.value == pytest.approx(np.exp(0.1))
    assert np.log(ratio.high / ratio.value) == pytest.approx(12.706 * 0.005, rel=1e-3)
    assert np.log(ratio.value / ratio.low) == pytest.approx(12.706 * 0.005, rel=1e-3)
    one = resampling.ratio_of_seeds(sums[None], (sums + 0.1 * TOKENS)[None], TOKENS)
    assert one == resampling.ratio(sums, sums + 0.1 * TOKENS, TOKENS)


@pytest.mark.parametrize(
    ("low", "high", "least", "most", "says"),
    [
        (0.02, 0.05, 0.0, 9.0, "yes"),
        (-0.01, 0.05, 0.0, 9.0, "open"),
        (-0.05, -0.01, 0.0, 9.0, "no"),
        (0.02, 0.05, 0.2, 9.0, "no"),
        (-0.03, -0.02, -9.0, 0.01, "yes"),
        (-0.004, 0.02, -9.0, 0.01, "open"),
        (0.02, 0.03, -9.0, 0.01, "no"),
    ],
)
def test_a_claim_holds_where_its_whole_interval_says_so(low, high, least, most, says):
    assert claims.verdict(low, high, least, most) == says


ROWS = {
    "mlp1": Row(valid=284, test=268),
    "mlp9": Row(valid=280, test=276),
    "kn3": Row(valid=332, test=321),
    "direct": Row(test=265),
    "frozen": Row(test=345.8),
    "ours": Row(),
}


@pytest.mark.parametrize(
    ("better", "than", "split", "says"),
    [
        (["mlp1"], ["kn3"], "test", (321 / 268 - 1, 320.5 / 268.5 - 1, 321.5 / 267.5 - 1)),
        (["mlp1"], ["kn3"], "valid", (332 / 284 - 1, 331.5 / 284.5 - 1, 332.5 / 283.5 - 1)),
        (["mlp1", "mlp9"], ["kn3"], "test", (321 / 276 - 1, 320.5 / 276.5 - 1, 321.5 / 275.5 - 1)),  # by validation
        (["direct"], ["kn3"], "valid", (321 / 265 - 1, 320.5 / 265.5 - 1, 321.5 / 264.5 - 1)),  # of test alone: both
        (["mlp1", "direct"], ["kn3"], "valid", (321 / 265 - 1, 320.5 / 265.5 - 1, 321.5 / 264.5 - 1)),  # by test then
        (["direct"], ["frozen"], "test", (345.8 / 265 - 1, 345.75 / 265.5 - 1, 345.85 / 264.5 - 1)),  # its own digits
    ],
)
def test_what_a_claim_asks_for_follows_from_the_printed_figures(better, than, split, says):
    claim = Claim(says="x", where="section 0", better=better, than=than, kind="as much")
    assert claims.printed_gain(claim, ROWS, split) == pytest.approx(says)


def models_of(folder, corpus, **models):
    """Models with the mean log-probabilities per token that are named, of each seed: the same by each evaluation."""
    network, ngram = {"model": {"n": 5, "h": 9, "m": 9, "direct": 0}}, {"ngram": {"order": 3, "classes": 0}}
    for name, seeds in models.items():
        kind, config = ("ngram", ngram) if name.startswith("kn") else ("train", network)
        for seed, mean in enumerate(seeds):
            filled(folder / name / str(seed), corpus, kind, mean, **config)


def table_of(folder, *networks, seeds=(0,), also=()):
    """A table with networks and other models, of which the paper prints what ROWS has."""
    rows = {name: ROWS.get(name, Row()) for name in (*networks, *also)}
    listed = {"seeds": list(seeds), "models": {"train": list(networks)}, "also": list(also), "rows": rows}
    return Table(**listed, same_corpus=True, predictions=[str(folder)], dvc="x.yaml")


def stage(few, folder, table, file="claims", **said):
    """Runs the stage; the lines of one of its files."""
    places = {"data": str(few), "out": str(folder), "timing": f"{folder}/timing.json"}
    claims.main(Claims(**({"claims": [], "exploratory": [], "table": table} | places | said)))
    return pd.read_csv(folder / f"{file}.csv")


def test_a_claim_is_judged_on_both_splits_and_both_evaluations(few, tmp_path):
    """Of several models it is about the one that validation has best here, whichever the paper's was."""
    models_of(tmp_path, read_corpus(few), mlp1=[-5.0, -5.02, -4.98], mlp9=[-5.2] * 3, kn3=[-5.3])
    table = table_of(tmp_path, "mlp1", "mlp9", seeds=(0, 1, 2), also=["kn3"])
    claim = Claim(
        says="networks win", where="section 4.2", better=["mlp1", "mlp9"], than=["kn3"], kind="as much", figure="24 %"
    )
    pair = Pair(says="beside it", better="mlp9", than="kn3")
    lines = stage(few, tmp_path, table, claims=[claim], exploratory=[pair])
    assert lines[["split", "evaluation"]].to_numpy().tolist() == [list(each) for each in claims.CASES]
    assert (lines["better"] == "mlp1").all() and (lines["seeds"] == 3).all()
    raw = lines[lines["evaluation"] == "raw"]
    assert raw["ours"].to_numpy() == pytest.approx(np.exp(0.3) - 1, rel=1e-4)
    assert raw["holds"].tolist() == ["yes", "yes"]  # .35 with +-.04 of the seeds, where the paper has .19 and .16
    assert (raw["high"] - raw["low"]).to_numpy() == pytest.approx(2 * 4.303 * 0.02 / 3**0.5 * np.exp(0.3), rel=1e-2)
    pairs = pd.read_csv(tmp_path / "exploratory.csv")
    assert pairs["ours"].iloc[0] == pytest.approx(np.exp(0.1) - 1, rel=1e-4) and "holds" not in pairs
    text = (tmp_path / "claims.md").read_text()
    assert "networks win" in text and "+18.57% / +16.30%" in text and "beside it" in text


def test_few_texts_widen_the_interval_of_a_claim(few, tmp_path):
    """As that of a report's ratio, of the same two models on the same blocks."""
    corpus = read_corpus(few)
    models_of(tmp_path, corpus, mlp1=[-5.0], kn3=[-5.3])
    for split in ("valid", "test"):
        falling = np.linspace(-4.6, -5.4, len(corpus.ids(split)), dtype=np.float32)
        np.save(tmp_path / "mlp1" / "0" / "raw" / f"{split}.npy", falling)
    claim = Claim(says="networks win", where="here", better=["mlp1"], than=["kn3"], kind="better", figure="")
    lines = stage(few, tmp_path, table_of(tmp_path, "mlp1", also=["kn3"]), claims=[claim])
    for line in lines[lines["evaluation"] == "raw"].itertuples():
        parts = resampling.parts_of(corpus, line.split)
        sums = [
            resampling.sums(parts.table, [tmp_path / name / "0"], f"raw/{line.split}")[0] for name in ("kn3", "mlp1")
        ]
        narrow = resampling.ratio(*sums, parts.tokens)
        wide = parts.interval(narrow)
        assert (line.low, line.high) == pytest.approx((wide.low - 1, wide.high - 1), abs=1e-5)
        assert line.low < narrow.low - 1.01 and not parts.are_texts


def curves(folder, **perplexities):
    """Learning curves of networks below a folder, a perplexity an epoch."""
    for name, curve in perplexities.items():
        (folder / name / "0").mkdir(parents=True)
        frame = pd.DataFrame({"epoch": range(1, len(curve) + 1), "valid_perplexity": curve})
        frame.to_csv(folder / name / "0" / "curve.csv", index=False)


@pytest.mark.parametrize(
    ("quick", "slow", "holds"),
    [
        ([400, 302, 300, 310], [500, 400, 350, 310, 296, 295], "yes"),  # 2 epochs to near the best and 5, cut off
        ([400, 300, 310], [500, 400, 310, 320], "no"),  # both ended: 2 epochs and 3
        ([400, 300, 310], [500, 400, 310, 300], "yes"),  # 4 epochs or more
        ([400, 300, 310], [500, 400, 310], "open"),  # 3 or more
        ([400, 300], [500, 400, 310, 300, 310], "open"),  # quick might have needed more
        ([400, 300], [500, 310, 300, 310], "no"),  # 2 or more, and 3
        ([400, 300.1, 300], [500, 400, 310, 300, 299.9], "yes"),  # what still creeps was not cut off
    ],
)
def test_epochs_are_counted_to_near_the_best_and_of_a_training_cut_off_the_least_is_said(
    few, tmp_path, quick, slow, holds
):
    curves(tmp_path, quick=quick, slow=slow)
    claim = Epochs(says="sooner", where="section 4.2", quick="quick", slow="slow", figure="10 for 20", least=0.8)
    lines = stage(few, tmp_path, table_of(tmp_path, "quick", "slow"), "curves", epochs=[claim])
    assert lines["holds"].tolist() == [holds]


@pytest.mark.parametrize(("last", "holds"), [(290, "yes"), (300, "no"), (301, "no")])
def test_a_network_overfits_where_its_last_epoch_is_not_its_best(few, tmp_path, last, holds):
    curves(tmp_path, large=[400, 300, 310, last])
    claim = Falling(says="no overfitting", where="section 4.2", name="large")
    (line,) = stage(few, tmp_path, table_of(tmp_path, "large"), "curves", falling=[claim]).to_dict("records")
    assert line["holds"] == holds


def test_a_claim_refuses_a_part_of_the_seeds_and_a_model_that_the_table_lacks(few, tmp_path):
    models_of(tmp_path, read_corpus(few), a=[-5.0, -5.0], kn3=[-5.3])
    table = table_of(tmp_path, "a", seeds=(0, 1, 2), also=["kn3"])
    for better, says in (("a", "no predictions of a/2"), ("b", "b is not in the table")):
        with pytest.raises(InputError, match=says):
            stage(few, tmp_path, table, exploratory=[Pair(says="x", better=better, than="kn3")])
