"""`nplm verdict`: from folders of runs to a table with intervals."""

import re

import numpy as np
import pandas as pd
import pytest
from mlflow import MlflowClient

from pipeline.commands import Parser, verdict
from pipeline.core.common.errors import InputError
from pipeline.data.corpus import read_corpus
from pipeline.data.predictions import write_predictions
from pipeline.data.record import Record
from pipeline.running.app import ROOT


@pytest.fixture
def results(few, tmp_path, capsys):
    """Writes a model's seed with the same probability for every token; calls the command."""
    corpus = read_corpus(few)

    def write(folder, seed: int, nats: float, **config):
        of = {"valid": nats, "test": nats + 1}
        raw = {split: np.full(len(corpus.ids(split)), -each, np.float32) for split, each in of.items()}
        name, folder = folder.partition("/")[0], tmp_path / folder
        write_predictions(folder / str(seed), corpus, raw)
        Record("train", name, seed, config, corpus.counts["digest"]).write(folder / str(seed))
        return folder

    def call(*words):
        parser = Parser()
        verdict.arguments(parser)
        verdict.run(parser.parse_args([*map(str, words), "--data", str(few)]))
        return capsys.readouterr().out

    return write, call


def test_seeds_are_one_model_and_the_ratio_to_the_first_has_its_interval(results):
    write, call = results
    for seed, nats in enumerate((5.0, 5.01)):
        first, second = write("a", seed, nats), write("b", seed, nats + 0.1)
    said = call(first, second)
    assert f"{np.exp([5.0, 5.01]).mean():.1f} ± {np.exp([5.0, 5.01]).std(ddof=1):.1f}" in said
    assert "1.105 (1.105 to 1.105), worse" in said
    assert re.search(r"4 texts; intervals resample \d+ blocks of [\d,]+ tokens", said)
    assert "0.905 (0.905 to 0.905), better" in call(second, first, "--split", "test")


def test_a_ratio_is_that_of_all_tokens(results, few, tmp_path):
    """Of texts of unequal size on which the models differ by other factors."""
    write, call = results
    corpus, folders = read_corpus(few), [write(name, 0, 5.0) for name in ("a", "b")]
    texts = corpus.texts[corpus.texts["split"] == "valid"]
    sizes = (texts["end"] - texts["first"]).to_numpy()
    assert max(sizes) > 1.5 * min(sizes)
    raw = {split: np.full(len(corpus.ids(split)), -5.0, np.float32) for split in ("valid", "test")}
    raw["valid"] -= np.repeat(np.linspace(0, 1, len(sizes)), sizes).astype(np.float32)
    write_predictions(folders[1] / "0", corpus, raw)
    Record("train", "b", 0, {}, corpus.counts["digest"]).write(folders[1] / "0")
    assert f" {np.exp(-raw['valid'].astype(float).mean() - 5):.3f} (" in call(*folders)


def test_models_of_a_grid_are_called_by_what_varies(results, tmp_path):
    write, call = results
    for size in (10, 20):
        for seed in (0, 1):
            write(f"grid/{size}", seed, 5 - size / 100, model={"h": size, "n": 5})
    said = call(tmp_path / "grid")
    assert said.count("model.h=") == 2 and "model.n" not in said and "±" in said


def test_what_can_not_be_compared_is_named(results, tmp_path):
    write, call = results
    only = write("a", 0, 5.0)
    with pytest.raises(InputError, match="one model; give the folders of two or more"):
        call(only)
    with pytest.raises(InputError, match="nothing: no result in it"):
        call(only, tmp_path / "nothing")


def test_a_text_becomes_a_table(tmp_path, stage):
    """Whatever it is called. What makes its figures mean little is said beside them, at the end."""
    random = np.random.default_rng(0)
    words = np.array([f"word{k}" for k in range(300)])[random.zipf(1.3, 6000).clip(max=300) - 1]
    begin = "*** START OF THIS PROJECT GUTENBERG EBOOK"
    text = "\n\n".join([begin, *(" ".join(part) for part in words.reshape(-1, 50))])
    (tmp_path / "my novel (1).txt").write_text(text)
    where = {"cwd": tmp_path, "env": stage.environment | {"PYTHONPATH": str(ROOT)}}
    ended = stage("commands.__main__", "study", "my novel (1).txt", **where)
    assert ended.returncode == 0, ended.stderr
    table = pd.read_csv(tmp_path / "outputs" / "my novel (1)" / "report" / "study.csv")
    assert table["name"].tolist() == ["interpolated3", "kn5", "mlp5", "mlp9", "mlp5-mixed", "mlp9-mixed"]
    assert ended.stdout.count("\n$ nplm ") == 9 and "valid, 95 % over blocks" in ended.stdout
    assert "holds the licence of Project Gutenberg" in ended.stdout.partition("over the first")[2]
    assert MlflowClient(stage.environment["MLFLOW_TRACKING_URI"]).get_experiment_by_name("nplm-my novel (1)")
