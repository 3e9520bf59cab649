"""Nothing is fitted on test: with noise in its place every weight, share, mixture weight, stopping epoch and validation
figure is bit for bit the same. A claim or a row of the report can then not have been chosen there."""

from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from conftest import changed, noised, settings

from pipeline import claims
from pipeline.config.check import STAGES, keys_of
from pipeline.data.corpus import read_corpus
from pipeline.data.files import read_json

TINY = ["model.h=4", "model.m=2", "recipe.epochs=3", "recipe.batch=64", "recipe.samples=100"]
TABLE = [
    *("table=demo", "table.csv=demo.csv", "table.same_corpus=true", "table.short=tiny", "table.column=ours"),
    "table.models={train: [net], ngram: [interpolated3, kn5], class_ngram: [classes], adapt: [cache, dynamic]}",
    *("table.mix={networks: [net], ways: [mixed, learned, by-frequency]}", "table.baselines=[kn5]"),
    "table.rows={net: {row: MLP1, train: 175, valid: 284, test: 268, year: 2003, step: a},"
    " net-learned: {row: MLP2, valid: 285, test: 260, year: 2004, kind: several, step: b},"
    " kn5: {row: Kneser-Ney, test: 321, year: 1998}, cache: {row: cached, year: 2017, kind: adapts},"
    " dynamic: {row: dynamic, year: 2018, kind: adapts, step: c},"
    " net-mixed: {}, net-by-frequency: {}, interpolated3: {}, classes: {}}",
]


# Stages that compute and choose no figure; but the page names the best row, by its own test, and streams ranks
# interpretations of the raw text by their counts alone.
WITHOUT_FIGURES = {"download", "page", "streams"}
CHOSEN = ("name", "model", "what", "from", "to", "epoch")  # columns of a table that say what is best
ADAPT = {
    "cache": ["adapt.size=500"],
    "dynamic": ["adapt.rates=[0,1e-4,1e-3]", "adapt.tried=2000", "adapt.measured=2000"],
}


def small_pipeline(data, folder):
    """A corpus of the texts of another, one model of each kind, its mixtures, the report and claims about them, in a
    folder; every stage takes part that computes a figure."""
    predictions, called = folder / "predictions", set()

    def run(name, *words):
        called.add(name)
        places = [f"data={data}"] * ("data" in keys_of(name).model_fields) + [f"timing={folder}/timing.json"]
        import_module(f"pipeline.{name}").main(settings(name, *places, *words))

    def model(stage, name, *words):
        run(stage, *words, f"out={predictions / name / '0'}")

    corpus, checkpoints = read_corpus(data), f"checkpoints={folder}/checkpoints"
    (folder / "text").mkdir(parents=True)
    for split, ids in corpus.splits.items():
        text = " ".join(corpus.vocabulary[word].strip("<>") for word in ids)  # symbols as words
        (folder / "text" / split).write_text(text)
    given = ["corpus.splits={train: train, valid: valid, test: test}", "corpus.vocabulary_from=train", "most_unknown=1"]
    given += ["corpus=text", f"corpus.raw={folder}/text", "corpus.format=tokens", "corpus.rare=1", "corpus.size=500"]
    run("preprocess", *given, f"out={folder}/corpus")
    run("features", "m=2", f"out={folder}/features")
    run("cluster", "classes=20", f"out={folder}/clusters/20")
    model("train", "net", *TINY, checkpoints, f"features={folder}/features/features.npy")
    model("train", "paper", *TINY[:2], "recipe=paper", "recipe.epochs=2", checkpoints)
    model("train", "energy", "model=cycling3", "recipe=energy", *TINY, "score_train=false", checkpoints)
    model("ngram", "interpolated3")
    model("ngram", "kn5", "ngram=kn3")
    model("ngram", "classes", "ngram=class150-3", "ngram.classes=20", f"clusters={folder}/clusters")
    for way in ("mixed", "learned", "by-frequency"):
        model("mix", f"net-{way}", f"mix={way}", "network=net", f"predictions=[{predictions}]")
    model("mix", "ngrams", "mix.components=[kn5/0,classes/0]", "mix.weights=[]", f"predictions=[{predictions}]")
    model("shortlist", "short", "network=energy/0", "size=20", f"predictions=[{predictions}]")
    streams = ["model=lstm", "recipe=lstm", "model.h=8", "model.m=8", "recipe.epochs=2", "recipe.batch=128"]
    model("train", "lstm", *streams, "score_train=false", checkpoints)
    for way, given in ADAPT.items():
        model("adapt", way, "network=lstm", f"adapt={way}", *given, f"predictions=[{predictions}]")
    new = [f"predictions=[{predictions}]", f"out={folder}/new", f"csv={folder}/new/words.csv"]
    run("out_of_vocabulary", "network=energy", *new)
    near = ["plane=net", "neighbours=net", "words=[said]", "count=2000", "seen=3"]
    run("word_map", *near, f"predictions=[{predictions}]", f"out={folder}/words")
    at = f"table.predictions=[{predictions}]"
    run("report", *TABLE, at, "clusters=", f"out={folder}/report")
    config = settings("claims", f"data={data}", *TABLE, at, f"out={folder}/claims")
    best = {
        "says": "best",
        "where": "here",
        "better": ["net", "net-mixed", "net-learned"],
        "than": ["kn5", "interpolated3"],
    }
    claims.main(changed(config, claims=[best, best | {"says": "by evaluation", "by_evaluation": True}], exploratory=[]))
    (folder / "tables").mkdir()
    (folder / "tables" / "demo.yaml").write_text(config.table.model_dump_json())
    of = [f"tables={folder}/tables", f"reports={folder}/report"]
    run("timeline", *of, "of=[demo]", f"out={folder}/report/timeline")
    run(
        "replication",
        *of,
        "trainings=[demo]",
        "counted=[demo]",
        "more=[]",
        "answer=[net]",
        "over={kn5: kn5}",
        "comparisons=[{says: best, better: [net, net-mixed], than: [kn5, interpolated3]}]",
        "controls={all: {before: demo, after: demo, rows: [net], changed: [kn5]}}",
        f"out={folder}/replication",
    )
    assert called | {"claims"} == set(STAGES) - WITHOUT_FIGURES


@pytest.fixture(scope="module")
def real(few, tmp_path_factory):
    """The folder of the small pipeline on the corpus."""
    folder = tmp_path_factory.mktemp("untouched") / "real"
    small_pipeline(few, folder)
    return folder


@pytest.fixture(scope="module")
def both(real, few):
    """Two folders of the small pipeline: on the corpus, and on the corpus with noise for test."""
    other = real.with_name("noised")
    small_pipeline(noised(few, real.with_name("data"), "test"), other)
    return real, other


BEGINNING = 10  # tokens of test


def test_what_test_says_of_a_word_depends_on_the_words_before_alone(real, few):
    """With noise from the eleventh token of test on, each model that leaves arrays gives the ten before it the same
    probabilities to the bit: it has not read test before it scores it, nor fitted a weight, a cache, a state or a count
    there. Only the files that a stage wrote before test was read may decide them."""
    other = real.with_name("from-the-eleventh")
    small_pipeline(noised(few, real.with_name("data-from"), "test", start=BEGINNING), other)
    arrays = sorted(file.relative_to(real) for file in (real / "predictions").rglob("test.npy"))
    assert len({file.parts[1] for file in arrays}) >= 12
    for file in arrays:
        ours, theirs = np.load(real / file), np.load(other / file)
        assert np.array_equal(ours[:BEGINNING], theirs[:BEGINNING]), file
        assert not np.array_equal(ours, theirs), file


def test_what_is_fitted_and_what_validation_says_is_the_same(both):
    """All files of all models but those of test itself, and run.json, which has the corpus's digest."""
    real, other = both
    files = [file.relative_to(real) for file in sorted(real.rglob("*")) if file.is_file()]
    fitted = [file for file in files if file.parts[0] in ("corpus", "predictions", "features", "clusters", "words")]
    left = ("test.npy", "run.json", "metrics.json", "counts.json")
    compared = [file for file in fitted if file.name not in left]
    names = {file.name for file in compared}
    assert {"weights.safetensors", "curve.csv", "weights.json", "valid.npy", "classes.csv", "features.npy"} <= names
    assert {"chosen.json", "vocabulary.txt", "neighbours.csv"} <= names
    assert len(compared) > 30
    for file in compared:
        assert (real / file).read_bytes() == (other / file).read_bytes(), file
    for file in (file for file in fitted if file.name == "metrics.json" and file.parts[0] == "predictions"):
        ours, theirs = (
            {key: value for key, value in read_json(folder / file).items() if not key.startswith("test")}
            for folder in both
        )
        assert ours == theirs and "valid_raw" in ours, file
        assert read_json(real / file)["test_raw"] != read_json(other / file)["test_raw"], file


def test_what_new_words_gain_on_validation_is_the_same(both):
    ours, theirs = (pd.read_csv(folder / "new" / "words.csv") for folder in both)
    valid, noised = (table[table["split"] == "valid"].reset_index(drop=True) for table in (ours, theirs))
    assert len(valid) and valid.equals(noised) and not ours.equals(theirs)


def test_what_the_tables_and_claims_say_of_validation_is_the_same(both):
    files = [f"report/{name}.csv" for name in ("demo", "extra", "intervals", "demo-ratios")]
    files += [f"replication/{name}.csv" for name in ("replication", "answer", "agreement", "comparisons", "controls")]
    for file in (*files, "report/timeline/timeline.csv", "report/timeline/steps.csv"):
        ours, theirs = (pd.read_csv(folder / file) for folder in both)
        kept = [column for column in ours if "test" not in column and ("valid" in column or column in CHOSEN)]
        assert kept and ours[kept].equals(theirs[kept]), file
    ours, theirs = (pd.read_csv(folder / "claims" / "claims.csv") for folder in both)
    assert ours[["better", "than"]].equals(theirs[["better", "than"]])  # what is best is chosen on validation
    assert ours[ours["split"] == "valid"].equals(theirs[theirs["split"] == "valid"])
