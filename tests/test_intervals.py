"""Intervals and genres of the table's models."""

import numpy as np
import pandas as pd
import pytest
from conftest import composed

from pipeline import intervals, store
from pipeline.core.errors import InputError
from pipeline.core.evaluation import perplexity
from pipeline.reporting import bytext


@pytest.fixture(scope="module")
def made(few, tmp_path_factory):
    """Predictions on the twenty texts: a with two seeds, b with one, each word of b's half as likely."""
    folder, corpus = tmp_path_factory.mktemp("predictions"), store.read_corpus(few)
    random = np.random.default_rng(0)
    for name, shift in (("a/0", 0.0), ("a/1", 0.2), ("b/0", -np.log(2))):
        (folder / name).mkdir(parents=True)
        np.save(folder / name / "test.npy", (random.normal(-5, 0.1, len(corpus.test)) + shift).astype(np.float32))
    return folder


def test_each_model_has_its_perplexity_and_its_ratio(made, few, tmp_path):
    settings = ["models=[a,b]", "against=[b]", "seeds=[0,1]", f"data={few}", f"predictions={made}", f"out={tmp_path}"]
    intervals.main(composed("intervals", intervals.Config, *settings))
    table = pd.read_csv(tmp_path / "intervals.csv", index_col="name")
    values = [perplexity(np.load(made / f"a/{seed}/test.npy")) for seed in (0, 1)]
    assert table.loc["a", "perplexity"] == pytest.approx(np.sqrt(np.prod(values)), rel=1e-5)  # seeds: geometric mean
    assert table["seeds"].to_dict() == {"a": 2, "b": 1}
    assert table.loc["b", "to_b"] == 1 and table.loc["b", "to_b_high"] == 1
    assert table.loc["a", "to_b"] == pytest.approx(
        table.loc["a", "perplexity"] / table.loc["b", "perplexity"], abs=1e-5
    )
    assert (table["low"] <= table["perplexity"]).all() and (table["perplexity"] <= table["high"]).all()
    corpus = store.read_corpus(few)
    genres = pd.read_csv(tmp_path / "genres.csv", index_col="genre")
    assert genres["tokens"].sum() == len(corpus.test)
    # over all genres, weighted by tokens, the log-perplexities give the whole
    whole = np.exp((np.log(genres["b"]) * genres["tokens"]).sum() / genres["tokens"].sum())
    assert whole == pytest.approx(table.loc["b", "perplexity"], rel=1e-5)


def test_a_part_of_the_seeds_is_refused(made, tmp_path):
    with pytest.raises(InputError, match=r"no predictions in .*a/2: run the stage that makes a"):
        bytext.folders(made, "a", [0, 1, 2])
    with pytest.raises(InputError, match=r"no predictions in .*c/0"):
        bytext.folders(made, "c", [0, 1])
    assert len(bytext.folders(made, "b", [0, 1])) == 1
