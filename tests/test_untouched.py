"""Nothing is fitted on test: with noise in its place every weight, share, mixture weight, stopping epoch and validation
figure is bit for bit the same. A claim or a row of the report can then not have been chosen there."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from conftest import changed, settings

from pipeline import adapt, claims, cluster, features, mix, ngram, out_of_vocabulary, report, shortlist, train
from pipeline.config.stages import STAGES
from pipeline.core.text.build import digest
from pipeline.data.corpus import read_corpus, write_corpus
from pipeline.data.files import read_json

TINY = ["model.h=4", "model.m=3", "recipe.epochs=3", "recipe.batch=64", "recipe.samples=100"]
TABLE = [
    *("table=demo", "table.models={train: [net], ngram: [interpolated3, kn3], class_ngram: [classes]}"),
    *("table.mix={networks: [net], ways: [mixed, learned, by-frequency]}", "table.yardsticks=[kn3]"),
]


# Stages that compute no figure from a corpus: they fetch it, read it, or lay out what others have computed.
WITHOUT_FIGURES = {"download", "preprocess", "word_map", "replication", "timeline", "page"}
ADAPT = {
    "cache": ["adapt.size=500"],
    "dynamic": ["adapt.rates=[0,1e-4,1e-3]", "adapt.tried=2000", "adapt.measured=2000"],
}


def small_pipeline(data, folder):
    """One model of each kind, its mixtures, the report and claims about them, in a folder; every stage takes part that
    computes a figure."""
    predictions, called = folder / "predictions", set()

    def run(stage, *words):
        name = stage.__name__.removeprefix("pipeline.")
        called.add(name)
        stage.main(settings(name, f"data={data}", f"timing={folder}/timing.json", *words))

    def model(stage, name, *words):
        run(stage, *words, f"out={predictions / name / '0'}")

    checkpoints = f"checkpoints={folder}/checkpoints"
    run(features, "m=3", f"out={folder}/features")
    run(cluster, "classes=20", f"out={folder}/clusters/20")
    model(train, "net", *TINY, checkpoints, f"features={folder}/features/features.npy")
    model(train, "paper", *TINY[:2], "recipe=paper", "recipe.epochs=2", checkpoints)
    model(train, "energy", "model=cycling3", "recipe=energy", *TINY, "score_train=false", checkpoints)
    model(ngram, "interpolated3")
    model(ngram, "kn3", "ngram=kn3")
    model(ngram, "classes", "ngram=class150-3", "ngram.classes=20", f"clusters={folder}/clusters")
    for way in ("mixed", "learned", "by-frequency"):
        model(mix, f"net-{way}", f"mix={way}", "network=net", f"predictions=[{predictions}]")
    model(mix, "ngrams", "mix.components=[kn3/0,classes/0]", "mix.weights=[]", f"predictions=[{predictions}]")
    model(shortlist, "short", "network=energy/0", "size=20", f"predictions=[{predictions}]")
    streams = ["model=awd-lstm", "recipe=awd-lstm", "model.h=8", "model.m=8", "recipe.epochs=2", "recipe.batch=128"]
    model(train, "lstm", *streams, "score_train=false", checkpoints)
    for way, given in ADAPT.items():
        model(adapt, way, "network=lstm", f"adapt={way}", *given, f"predictions=[{predictions}]")
    new = [f"predictions=[{predictions}]", f"out={folder}/new", f"csv={folder}/new/words.csv"]
    run(out_of_vocabulary, "network=energy", *new)
    at = f"table.predictions=[{predictions}]"
    run(report, *TABLE, at, "clusters=", f"out={folder}/report")
    config = settings("claims", f"data={data}", *TABLE, at, f"out={folder}/claims")
    best = {
        "says": "best",
        "where": "here",
        "better": ["net", "net-mixed", "net-learned"],
        "than": ["kn3", "interpolated3"],
    }
    claims.main(changed(config, claims=[best, best | {"says": "by reading", "by_reading": True}], exploratory=[]))
    assert called | {"claims"} == STAGES.keys() - WITHOUT_FIGURES


@pytest.fixture(scope="module")
def both(few, tmp_path_factory):
    """Two folders of the small pipeline: on the corpus, and on the corpus with noise for test."""
    folder = tmp_path_factory.mktemp("untouched")
    noised = folder / "noised" / "data"
    corpus = read_corpus(few)
    noise = np.random.default_rng(0).integers(0, len(corpus.vocabulary), len(corpus.test)).astype(corpus.test.dtype)
    counts = corpus.counts | {"digest": digest(corpus.train, corpus.valid, noise)}
    write_corpus(noised, dataclasses.replace(corpus, test=noise, counts=counts))
    small_pipeline(few, folder / "real")
    small_pipeline(noised, folder / "noised")
    return folder / "real", folder / "noised"


def test_what_is_fitted_and_what_validation_says_is_the_same(both):
    """All files of all models but those of test itself, and run.json, which has the corpus's digest."""
    real, noised = both
    files = [file.relative_to(real) for file in sorted(real.rglob("*")) if file.is_file()]
    fitted = [file for file in files if file.parts[0] in ("predictions", "features", "clusters")]
    compared = [file for file in fitted if file.name not in ("test.npy", "run.json", "metrics.json")]
    names = {file.name for file in compared}
    assert {"weights.safetensors", "curve.csv", "weights.json", "valid.npy", "classes.csv", "features.npy"} <= names
    assert "chosen.json" in names
    assert len(compared) > 30
    for file in compared:
        assert (real / file).read_bytes() == (noised / file).read_bytes(), file
    for file in (file for file in fitted if file.name == "metrics.json" and file.parts[0] == "predictions"):
        ours, theirs = (
            {key: value for key, value in read_json(folder / file).items() if not key.startswith("test")}
            for folder in both
        )
        assert ours == theirs and "valid" in ours, file
        assert read_json(real / file)["test"] != read_json(noised / file)["test"], file


def test_what_new_words_gain_on_validation_is_the_same(both):
    ours, theirs = (pd.read_csv(folder / "new" / "words.csv") for folder in both)
    valid, noised = (table[table["split"] == "valid"].reset_index(drop=True) for table in (ours, theirs))
    assert len(valid) and valid.equals(noised) and not ours.equals(theirs)


def test_what_the_tables_and_claims_say_of_validation_is_the_same(both):
    for file in ("report/demo.csv", "report/intervals.csv", "report/demo-ratios.csv"):
        ours, theirs = (pd.read_csv(folder / file) for folder in both)
        kept = [column for column in ours if "test" not in column and "valid" in column]
        assert kept and ours[kept].equals(theirs[kept]), file
    ours, theirs = (pd.read_csv(folder / "claims" / "claims.csv") for folder in both)
    assert ours[["better", "than"]].equals(theirs[["better", "than"]])  # what is best is chosen on validation
    assert ours[ours["split"] == "valid"].equals(theirs[theirs["split"] == "valid"])
