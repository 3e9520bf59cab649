"""Intervals and genres of the table's models."""

import dataclasses

import numpy as np
import pytest
from conftest import settings

from pipeline.core.common.evaluation import perplexity
from pipeline.data.corpus import SPLITS, read_corpus
from pipeline.reporting import intervals, resampling


@pytest.fixture(scope="module")
def made(few, tmp_path_factory):
    """Predictions on the twenty texts: a with two seeds, b with one, b's words less likely, the later the less; a alone
    has scored training."""
    folder, corpus = tmp_path_factory.mktemp("predictions"), read_corpus(few)
    random = np.random.default_rng(0)
    for name, shift in (("a/0", 0.0), ("a/1", 0.2), ("b/0", -np.log(2))):
        (folder / name / "raw").mkdir(parents=True)
        for split in ("valid", "test"):
            rising = np.linspace(0, 2, len(corpus.ids(split)))  # so that texts and genres, of unequal size, differ
            drawn = random.normal(-5, 0.1, len(rising)) + rising + shift * rising
            np.save(folder / name / "raw" / f"{split}.npy", drawn.astype(np.float32))
    np.save(folder / "a" / "0" / "raw" / "train.npy", np.full(len(corpus.train), -4, dtype=np.float32))
    return folder


def table_of(predictions, *words):
    """A table of a network and an n-gram, with the n-gram as the baseline."""
    given = [f"table.predictions=[{predictions}]", "table=demo", "table.seeds=[0,1]", "table.mix.networks=[]"]
    given += ["table.models={train: [a], ngram: [b], class_ngram: []}", "table.baselines=[b]"]
    return settings("report", *given, *words).table


def test_each_model_has_its_perplexity_and_its_ratio(made, few):
    corpus, models = read_corpus(few), table_of(made)
    table = intervals.build(models, corpus)
    values = [perplexity(np.load(made / f"a/{seed}/raw/test.npy")) for seed in (0, 1)]
    assert table.loc["a", "test_raw"] == pytest.approx(np.sqrt(np.prod(values)), rel=1e-5)  # seeds: geometric mean
    assert table["seeds"].to_dict() == {"a": 2, "b": 1}
    assert table.loc["b", "test_raw_to_b"] == 1 and table.loc["b", "test_raw_to_b_high"] == 1
    assert table.loc["a", "test_raw_to_b"] == pytest.approx(
        table.loc["a", "test_raw"] / table.loc["b", "test_raw"], abs=1e-5
    )
    assert (table["test_raw_low"] <= table["test_raw"]).all() and (table["test_raw"] <= table["test_raw_high"]).all()
    assert table.loc["a", "valid_raw_to_b"] == pytest.approx(
        table.loc["a", "valid_raw"] / table.loc["b", "valid_raw"], abs=1e-5
    )
    assert (table["valid_raw_to_b_low"] <= table["valid_raw_to_b"]).all()
    valid = [perplexity(np.load(made / f"a/{seed}/raw/valid.npy")) for seed in (0, 1)]
    assert table.loc["a", "valid_raw"] == pytest.approx(np.sqrt(np.prod(valid)), rel=1e-5)
    assert (table["valid_raw_low"] <= table["valid_raw"]).all() and (
        table["valid_raw"] <= table["valid_raw_high"]
    ).all()

    genres = intervals.genres(models, corpus)
    assert genres["tokens"].groupby("split").sum().to_dict() == {name: len(corpus.ids(name)) for name in SPLITS}
    # over all genres of a split, weighted by tokens, the log-perplexities give the whole
    test = genres.loc["test"]
    whole = np.exp((np.log(test["b"]) * test["tokens"]).sum() / test["tokens"].sum())
    assert whole == pytest.approx(table.loc["b", "test_raw"], rel=1e-5)
    assert genres.loc["train", "a"].to_numpy() == pytest.approx(np.exp(4), rel=1e-4)  # raw, of the first seed
    assert genres.loc["train", "b"].isna().all()


def test_a_genre_that_straddles_two_splits_has_a_line_in_each(few):
    """So does a text: nothing is lost where it is cut."""
    corpus = read_corpus(few)
    parts = [resampling.texts_of(corpus, split) for split in SPLITS]
    assert [part["tokens"].sum() for part in parts] == [len(corpus.ids(split)) for split in SPLITS]
    assert sum(len(part) for part in parts) > corpus.texts["name"].nunique()  # a text in two parts
    assert all((part["first"] == part["tokens"].cumsum() - part["tokens"]).all() for part in parts)


def test_a_corpus_without_genres_has_no_table_of_them(made, few):
    """As that of Table 2, whose network was not scored on training."""
    corpus = read_corpus(few)
    texts = corpus.texts.assign(genre="").to_csv(index=False)
    assert intervals.genres(table_of(made), dataclasses.replace(corpus, texts_csv=texts)).empty
