"""Tables: what stands in them, and ratios to the baseline."""

import numpy as np
import pandas as pd
import pytest
from conftest import filled, made
from pydantic import ValidationError

from pipeline import report
from pipeline.config.tables import Mixed, Row, Table, read_tables
from pipeline.core.common.errors import InputError
from pipeline.data.corpus import Corpus
from pipeline.data.files import write_json
from pipeline.reporting import resampling, table
from pipeline.reporting.views import VIEWS, laid_out, latex, markdown
from pipeline.running.app import ROOT


@pytest.fixture
def built():
    """A network that beats the paper's ratio everywhere, one that misses it on validation, and the baseline."""
    lines = [
        {
            "row": "MLP1",
            "model": "network",
            "valid_raw": 81,
            "valid_corrected": 80,
            "valid_corrected_seen": 79,
            "test_raw": 70,
            "test_corrected": 69,
        },
        {
            "row": "MLP2",
            "model": "network",
            "valid_raw": 90,
            "valid_corrected": 80,
            "valid_corrected_seen": 79,
            "test_raw": 70,
            "test_corrected": 69,
        },
        {
            "row": "Kneser-Ney",
            "model": "ngram",
            "valid_raw": 100,
            "valid_corrected": 100,
            "valid_corrected_seen": 100,
            "test_raw": 100,
        },
    ]
    papers = [{"paper_valid": 170, "paper_test": 150}] * 2 + [{"paper_valid": 200, "paper_test": 200}]
    both = [ours | paper for ours, paper in zip(lines, papers, strict=True)]
    return pd.DataFrame(both, columns=table.NAMES, index=["mlp1", "mlp2", "kn5"]).astype(table.TYPES)


@pytest.fixture
def ratios(built):
    """To Kneser-Ney 5 and to MLP2, with intervals."""
    ends = {f"valid_raw_to_{other}_{end}": 0.5 for other in ("kn5", "mlp2") for end in ("low", "high")}
    ends |= {
        "test_raw_to_kn5_low": 0.68,
        "test_raw_to_kn5_high": 0.72,
        "test_raw_to_mlp2_low": 0.9,
        "test_raw_to_mlp2_high": 1.1,
    }
    intervals = pd.DataFrame(ends, index=["mlp1", "mlp2"])

    def call(*over: str, **papers: float) -> pd.DataFrame:
        return table.ratios(built.assign(**papers), over, intervals)

    return call


def test_ratios_are_to_the_same_tokens_of_the_baseline(ratios):
    one = ratios("kn5")
    assert one["row"].tolist() == ["MLP1", "MLP2"]
    valid = ["valid_raw_ratio", "valid_corrected_ratio", "valid_corrected_seen_ratio", "paper_valid_ratio"]
    assert one.loc["mlp1", valid].tolist() == pytest.approx([0.81, 0.8, 0.79, 0.85])
    assert one.loc["mlp1", ["test_raw_ratio", "paper_test_ratio"]].tolist() == pytest.approx([0.7, 0.75])
    assert one["reached"].tolist() == [True, False]
    assert ratios().empty and ratios("kn3").empty
    both = ratios("kn5", "mlp2")
    assert both["over"].tolist() == ["kn5", "kn5", "mlp2", "mlp2"]
    assert both["test_raw_ratio_low"].tolist() == [0.68, 0.68, 0.9, 0.9] and (both["valid_raw_ratio_low"] == 0.5).all()


def test_what_the_paper_does_not_print_is_not_reached_or_missed(built, ratios):
    """NIPS 2000 prints test figures alone, some rows have none at all. Then readers see no blank columns."""
    assert ratios("kn5", paper_valid=np.nan)["reached"].tolist() == [True, True]  # MLP2 misses it on validation alone
    unprinted = ratios("kn5", paper_valid=np.nan, paper_test=np.nan)
    assert unprinted["reached"].isna().all()
    for compares in (True, False):
        *_, (_, _, view) = report.views_of(built, built[:0], unprinted, built, compares, True)
        assert "| yes" not in markdown(view)
        assert bool([head for head in view if "paper" in head or head == "reached"]) == compares


def test_readers_see_the_ratios_to_each_baseline_with_their_intervals(built, ratios):
    _, (_, _, kn5), (_, _, mlp2) = report.views_of(built, built[:0], ratios("kn5", "mlp2"), built, True, True)
    assert kn5["test, 95 % over texts"].tolist() == ["0.680 to 0.720"] * 2
    assert "0.680 to 0.720" in markdown(kn5) and "0.900 to 1.100" in markdown(mlp2) and r"95 \%" in latex(mlp2)
    assert "0.850" in markdown(kn5)


def test_perplexities_of_another_corpus_are_not_compared(built):
    views = [next(report.views_of(built, built[:0], pd.DataFrame(), built, True, of))[2] for of in (True, False)]
    assert "-53.3%" in markdown(views[0]) and "against paper" in latex(views[0])
    assert "%" not in markdown(views[1]) and "against paper" not in latex(views[1])


def test_a_figure_that_the_paper_prints_with_a_decimal_keeps_it(built, tmp_path):
    built.assign(paper_test=345.8).round(4).to_csv(tmp_path / "table.csv", index_label="name")
    shown = laid_out(table.read(tmp_path / "table.csv"), VIEWS["report"])
    assert shown["test, paper"].tolist() == ["345.8"] * 3
    assert laid_out(built, VIEWS["report"])["test, paper"].tolist() == ["150", "150", "200"]


def test_the_committed_tables_for_readers_are_views_of_the_committed_csv_files():
    """Table 1 to the digit; its CSV file is rounded to four."""
    text = (ROOT / "reports" / "table1.md").read_text()
    shown, extra = (table.read(ROOT / "reports" / f"{name}.csv") for name in ("table1", "extra"))
    for _, _, view in report.views_of(shown, extra, pd.DataFrame(), shown, True, True):
        assert markdown(view) in text


NETWORK = {"model": {"n": 3, "h": 8, "m": 6, "direct": True}}


@pytest.fixture
def corpus():
    """Four tokens a split; `<unk>` is the one word that training never shows."""
    ids = np.array([1, 2, 1, 3], dtype=np.int32)
    return Corpus(["<unk>", "<text>", "a", "b"], ids, ids, ids, "", {"digest": "x"})


def listed(folder, **changes):
    """A table of a network with two seeds and its mixture, and an n-gram, of which the paper prints one figure."""
    models = {"train": ["mlp1"], "ngram": ["kn3"]}
    rows = {"kn3": Row(row="Kneser-Ney"), "mlp1": Row(row="MLP1", valid=284.0)}
    given = {"seeds": [0, 1], "models": models, "mix": Mixed(networks=["mlp1"], ways=["mixed"]), "rows": rows}
    given |= {"baselines": ["kn3"], "same_corpus": True, "dvc": "dvc.yaml"}
    return Table(predictions=[str(folder)], **given | changes)


@pytest.fixture
def models(tmp_path, corpus):
    """The folder of that table's models."""
    for seed, p in enumerate((0.1, 0.3)):
        filled(tmp_path / "mlp1" / str(seed), corpus, "train", np.log(p), **NETWORK)
        mixture = {"components": [f"mlp1/{seed}", "kn3/0"]}
        filled(tmp_path / "mlp1-mixed" / str(seed), corpus, "mix", np.log(0.2), mix=mixture)
    filled(tmp_path / "kn3" / "0", corpus, "ngram", np.log(0.2), ngram={"order": 3, "classes": 0})
    return tmp_path


def test_a_network_is_the_mean_of_its_seeds_and_its_shape_is_what_its_stage_says(models, corpus):
    """The paper's rows stand first, in its order; then what the lists have beside them."""
    built = table.build(listed(models), corpus)
    assert built["row"].to_dict() == {"kn3": "Kneser-Ney", "mlp1": "MLP1", "mlp1-mixed": "mlp1-mixed"}
    assert built["model"].tolist() == ["ngram", "network", "network"]
    assert built.loc["mlp1", ["n", "h", "m", "direct", "mix"]].tolist() == [3, 8, 6, True, False]
    assert built.loc["mlp1-mixed", ["n", "h", "m", "direct", "mix"]].tolist() == [3, 8, 6, True, True]
    assert built["parameters"].tolist() == [pd.NA, 28, 28] and built["context"].tolist() == [2, 2, 2]
    assert built.loc["kn3", "n"] == 3 and built.loc["kn3", ["c", "h", "m"]].isna().all()
    line = built.loc["mlp1"]
    assert line["seeds"] == 2 and line["paper_valid"] == 284 and line["train_raw"] == pytest.approx(10)
    # `<unk>` is the one unseen word, and validation has none of it: its share is nothing.
    assert line["test_raw"] == pytest.approx((10 + 10 / 3) / 2) == line["valid_raw"] / 2
    assert line["test_corrected_sd"] == pytest.approx(
        np.std([line["test_corrected"] * 1.5, line["test_corrected"] * 0.5], ddof=1)
    )
    assert " ± " in markdown(laid_out(built, VIEWS["report"]))


def test_a_row_without_predictions_names_the_stage_to_run(models, corpus):
    """It is never left out; nor is one seed."""
    for changes, stage in (
        ({"seeds": [0, 1, 2]}, "train@mlp1-2"),
        ({"models": {"train": ["mlp1"], "ngram": ["kn3", "kn9"]}}, "ngram@kn9"),
        ({"mix": Mixed(networks=["mlp1"], ways=["mixed", "learned"])}, "mix@mlp1-learned-0"),
        ({"seeds": [0, 1, 2], "dvc": "experiments/x/dvc.yaml"}, "experiments/x/dvc.yaml:train@mlp1-2"),
    ):
        with pytest.raises(InputError, match=f"no predictions of .*: run `dvc repro {stage}`"):
            table.build(listed(models, **changes), corpus)


def test_a_row_that_nothing_makes_and_predictions_of_another_corpus_are_refused(models, corpus):
    with pytest.raises(ValidationError, match=r"table: kn5: no stage of table\.models makes it"):
        listed(models, baselines=["kn5"])
    corpus.counts["digest"] = "y"
    with pytest.raises(InputError, match=r"kn3/0 was made from another corpus"):
        table.build(listed(models), corpus)


def test_a_table_that_builds_on_another_leaves_out_rows_that_it_lacks_and_names_its_own(tmp_path):
    base = "seeds: [0]\nmodels: {train: [mlp1, mlp2]}\nrows: {mlp2: {row: MLP2}}\npredictions: [p]\ndvc: dvc.yaml\n"
    (tmp_path / "base.yaml").write_text(base)
    (tmp_path / "short.yaml").write_text("defaults: [base, _self_]\nmodels: {train: [mlp1]}\n")
    assert list(read_tables(tmp_path)["short"].names) == ["mlp1"]
    (tmp_path / "short.yaml").write_text(
        "defaults: [base, _self_]\nmodels: {train: [mlp1]}\nrows: {mlp3: {row: MLP3}}\n"
    )
    with pytest.raises(InputError, match=r"short\.yaml: table: mlp3: no stage of table\.models makes it"):
        read_tables(tmp_path)


def test_seeds_of_different_settings_are_not_averaged(models, corpus):
    """Those of a mixture name another seed of its network each, and are one model."""
    made(models / "mlp1" / "1", corpus, "train", **NETWORK, recipe={"epochs": 9})
    with pytest.raises(InputError, match=r"mlp1/0, .*mlp1/1: seeds of one model with different settings"):
        table.build(listed(models), corpus)


@pytest.mark.parametrize("array", ["test.npy", "raw/valid.npy"])
def test_a_seed_without_its_array_is_named(models, corpus, array):
    """And not left out of the mean."""
    (models / "mlp1" / "1" / array).unlink()
    with pytest.raises(InputError, match=f"mlp1/1/{array} is not there"):
        table.build(listed(models), corpus)
    folders = [models / "mlp1" / str(seed) for seed in (0, 1)]
    texts = pd.DataFrame({"first": [0], "tokens": [4]})
    with pytest.raises(InputError, match=f"mlp1/1/{array} is not there"):
        resampling.sums(texts, folders, array.removesuffix(".npy"))


def test_the_words_of_context_are_those_that_can_decide_a_probability_in_mixtures_of_mixtures_too(corpus, tmp_path):
    def context(name, stage, **config):
        return table.shape(made(tmp_path / name / "0", corpus, stage, **config), [tmp_path])["context"]

    network = {"n": 5, "h": 6, "m": 6, "direct": False}
    for name, words in (("plain", {"context": 4}), ("rnn", {})):
        write_json(tmp_path / name / "0" / "metrics.json", {"parameters": 28} | words)
    assert context("plain", "train", model=network) == 4
    assert context("rnn", "train", model=network) == np.inf
    assert context("adapts", "adapt", network="plain/0") == np.inf
    assert context("cache", "ngram", ngram={"order": 1, "classes": 0, "length": 3000}) == 3000
    assert context("cached", "mix", mix={"components": ["plain/0", "cache/0"]}) == 3000
    assert context("ngrams", "mix", mix={"components": ["cache/0"]}) == 3000
    assert context("with-them", "mix", mix={"components": ["plain/0", "ngrams/0"]}) == 3000
    assert context("by-hand", "unigram") is None
    assert context("with-it", "mix", mix={"components": ["plain/0", "by-hand/0"]}) is None
