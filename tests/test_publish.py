"""What `nplm publish` reads from the results of stages and writes into a store: a few tiny results, really made."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import mlflow
import pandas as pd
import pytest
from conftest import composed
from mlflow.entities import Run
from mlflow.utils.file_utils import local_file_uri_to_path

from pipeline import cluster, features, mix, ngram, out_of_vocabulary, train
from pipeline.commands import publisher, results
from pipeline.commands.__main__ import main
from pipeline.data import record
from pipeline.running import paper, tracking
from pipeline.running.app import ROOT

EXPERIMENT = "nplm-brown-20-texts"  # of the corpus `few`
ROWS = """
same_corpus: true
rows:
  mlp9: {row: MLP9, train: 175, valid: 280, test: 276}
  kn3: {row: Kneser-Ney}
"""


def made_in(root: Path, few: Path) -> None:
    """Results of each stage that has a run of its own, in the places that dvc.yaml gives them."""
    (root / "data").mkdir(parents=True)
    (root / "data" / "brown").symlink_to(few)
    (root / "conf" / "table").mkdir(parents=True)
    (root / "conf" / "table" / "table1.yaml").write_text(ROWS)

    def run(module, stage, out, timing, *overrides):
        where = [f"data={root}/data/brown", f"out={root}/{out}", f"timing={root}/timings/{timing}.json"]
        module.main(composed(stage, module.Config, *where, *overrides))

    tiny = ["model=mlp9", "model.m=3", "model.h=4", "recipe.epochs=2", "recipe.batch=64", "recipe.samples=100"]
    tiny.append(f"checkpoints={root}/checkpoints")
    predictions = f"predictions=[{root}/predictions/table1]"
    for seed in (0, 1):
        run(train, "train", f"predictions/table1/mlp9/{seed}", f"table1/train-{seed}", *tiny, f"seed={seed}")
    run(train, "train", "predictions/faithful/mlp9/0", "faithful/train", *tiny, "recipe.epochs=1")  # of the same name
    run(ngram, "ngram", "predictions/table1/kn3/0", "table1/ngram-kn3", "ngram=kn3")
    parts = ["mix=learned", "mix.components=[kn3/0,mlp9/0]", "name=best-ngram", predictions]
    run(mix, "mix", "predictions/table1/best-ngram/0", "table1/mix-best-ngram", *parts)
    run(cluster, "cluster", "clusters/brown/20", "table1/cluster-20", "classes=20", "passes=1")
    run(features, "features", "features/svd3", "beyond/features", "m=3", "contexts=50")
    out = "predictions/out_of_vocabulary/mlp9"
    network = ["network=mlp9/0", f"csv={root}/oov.csv", predictions]
    run(out_of_vocabulary, "out_of_vocabulary", out, "table1/oov", *network)


@pytest.fixture(scope="module")
def root(few, tmp_path_factory):
    """Results, and the store that their stages have logged into."""
    root = tmp_path_factory.mktemp("root")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{root / 'logged.db'}")
        made_in(root, few)
    return root


@pytest.fixture
def copied(root, tmp_path, monkeypatch):
    """A root with one n-gram and one mixture alone, and an empty store."""
    for name in ("kn3", "best-ngram"):
        for file in (root / "predictions" / "table1" / name).rglob("*.json"):
            target = tmp_path / file.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "brown").symlink_to(root / "data" / "brown")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    return tmp_path


def publish(root: Path, *models: str) -> None:
    """Runs, and the models named."""
    assert main(["publish", "--root", str(root), "--models", *models]) == 0


def stored() -> dict[str, Run]:
    """Runs of models by their ids."""
    client = tracking.open_client()
    runs = client.search_runs([tracking.experiment_of(client, EXPERIMENT)])
    return {run.info.run_id: run for run in runs if "model" in run.data.tags}


def test_an_empty_store_gets_the_runs_that_their_stages_log(root, monkeypatch):
    """And those that a stage has logged are completed; to repeat it changes nothing."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{root / 'logged.db'}")
    by_stage = stored()
    publish(root)
    completed = stored()
    assert completed.keys() == by_stage.keys()
    logged = {run.data.tags[publisher.OUTPUT]: run for run in completed.values()}
    assert len(logged) == len(completed) == len(results.results(root))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{root / 'empty.db'}")
    publish(root)
    built = stored()
    publish(root)
    assert stored().keys() == built.keys()
    assert {run.data.tags[publisher.OUTPUT] for run in built.values()} == logged.keys()
    client = tracking.open_client()
    for run in built.values():
        same = logged[run.data.tags[publisher.OUTPUT]]
        assert run.info.run_name == same.info.run_name
        assert run.data.metrics == pytest.approx(same.data.metrics), run.info.run_name
        assert run.data.params == {key: same.data.params[key] for key in run.data.params}
        assert (
            run.data.params["stage"] == run.data.tags["stage"] and run.inputs.dataset_inputs[0].dataset.name == "brown"
        )
    noted = {run.data.tags.get("mlflow.note.content") for run in built.values()}
    papers = "MLP9. The paper's perplexity: train 175, valid 280, test 276."
    assert noted == {None, papers, "Kneser-Ney. The paper prints no figure."}
    networks = (key for key, run in built.items() if run.data.tags["stage"] == "train")
    epochs = {len(client.get_metric_history(key, "curve/valid_perplexity")) for key in networks}
    assert epochs == {1, 2}


def test_a_table_that_can_not_be_read_stops_no_run(tmp_path, caplog):
    file = tmp_path / "conf" / "table" / "table1.yaml"
    file.parent.mkdir(parents=True)
    assert paper.notes("table1", tmp_path) == {}
    for half in ("rows:\n  mlp9: {row: MLP9, tra", "rows:\n  mlp9: MLP9\n", "rows: {mlp9: {row: MLP9, test: MLP9}}"):
        file.write_text(half)
        caplog.clear()
        assert paper.notes("table1", tmp_path) == {}
        assert f"no notes in MLflow: {file}: " in caplog.text


def test_what_a_result_holds_comes_from_its_run(root):
    """Table 1's first; each with the corpus by its digest, and the times of its own table or corpus."""
    found = results.results(root)
    assert [result.table for result in found][:4] == ["table1"] * 4
    by_folder = {result.folder.relative_to(root).as_posix(): result for result in found}
    assert {result.data for result in found} == {root / "data" / "brown"}
    of_tables = by_folder["predictions/table1/mlp9/0"], by_folder["predictions/faithful/mlp9/0"]
    for result, file in zip(of_tables, ("table1/train-0", "faithful/train"), strict=True):
        assert result.timing["seconds"] == json.loads((root / "timings" / f"{file}.json").read_text())["seconds"]
        assert "seed" not in result.timing and "cores" not in result.timing
    for folder in ("clusters/brown/20", "predictions/out_of_vocabulary/mlp9", "features/svd3"):
        assert by_folder[folder].timing["seconds"] > 0
    assert of_tables[0].digest != of_tables[1].digest
    served = [result.folder.relative_to(root).as_posix() for result in found if result.serves]
    assert served == ["predictions/table1/best-ngram/0", "predictions/table1/mlp9/0", "predictions/faithful/mlp9/0"]


@pytest.mark.parametrize("name", ["mlp9-faithful", "best-ngram"])
def test_a_published_model_says_what_the_command_says(root, tmp_path, monkeypatch, capsys, name):
    """A network of another table than its namesake, and a mixture with its components."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    monkeypatch.chdir(tmp_path)  # where MLflow puts the files of a store like this
    publish(root, name)
    assert f"1 models; the best by validation, {name}, is nplm@best, version 1" in capsys.readouterr().out
    loaded = mlflow.pyfunc.load_model("models:/nplm@best")
    text = "The jury said that it was fair."
    (tmp_path / "text.txt").write_text(text)
    own, _, table = name.partition("-") if name != "best-ngram" else (name, "", "table1")
    place = ["--data", root / "data" / "brown", "--predictions", root / "predictions" / (table or "table1")]
    assert main(["score", own, str(tmp_path / "text.txt"), "--format", "json", *map(str, place)]) == 0
    scored = json.loads(capsys.readouterr().out)
    answer = loaded.predict(pd.DataFrame({"text": [text, " ", None, "a\0b"]}))
    assert answer["perplexity"][0] == pytest.approx(scored["perplexity"], rel=1e-5)
    assert [word["word"] for word in answer["words"][0]] == [row["word"] for row in scored["rows"]]
    assert answer["words"][1:].tolist() == [[], [], []] and answer["perplexity"][1:].isna().all()
    said = ["no words in the text", "no text: give one as `text`", "NUL characters"]
    assert [error.split(",")[0] for error in answer["error"][1:]] == said
    client = tracking.open_client()
    (model,) = client.search_logged_models([tracking.experiment_of(client, EXPERIMENT)])
    shutil.rmtree(local_file_uri_to_path(model.artifact_location))  # as when the folder of artifacts is deleted
    publish(root, name)
    assert "nplm@best, version 2" in capsys.readouterr().out
    assert mlflow.pyfunc.load_model("models:/nplm@best")


def test_a_model_that_a_killed_publish_began_is_removed(copied):
    publisher_of = publisher.Publisher(copied)
    (result, *_) = results.results(copied)
    place = publisher_of.experiment(result.data)
    publisher_of.client.create_logged_model(place, name="kn3", tags={publisher.OUTPUT: result.digest})
    assert publisher_of.logged(result) == ""
    assert not publisher_of.client.search_logged_models([place])


def test_models_that_are_not_there_are_named(root, capsys):
    assert main(["publish", "--root", str(root), "--models", "kn3"]) == 2
    said = "error: --models: kn3 can't be served; there are: best-ngram, mlp9, mlp9-faithful\n"
    assert capsys.readouterr().err == said


def test_two_at_once_make_each_run_once_and_leave_others_alone(copied):
    """A run under way stays so, whoever began it; one that a killed publish has begun is made again."""
    client = tracking.open_client()
    experiment = tracking.experiment_of(client, EXPERIMENT)
    (_, counted) = results.results(copied)
    tags = tracking.tags_of(counted.run)
    by_hand = client.create_run(experiment, tags=tags).info.run_id
    begun = client.create_run(experiment, tags=tags | {publisher.OUTPUT: counted.digest}).info.run_id
    command = [sys.executable, "-m", "pipeline.commands", "publish", "--root", str(copied), "--models"]
    started = [subprocess.Popen(command, cwd=ROOT) for _ in range(2)]
    assert [process.wait() for process in started] == [0, 0]
    runs = client.search_runs([experiment], f"tags.`{publisher.OUTPUT}` LIKE '%'")
    assert sorted(run.info.run_name for run in runs) == ["best-ngram-0", "kn3-0"]
    assert {run.info.status for run in runs} == {"FINISHED"}
    assert len(client.search_runs([experiment])) == 4  # and their parent, and the one by hand
    assert client.get_run(by_hand).info.status == "RUNNING"
    assert client.get_run(begun).info.lifecycle_stage == "deleted"


def test_a_grid_is_published_by_its_table(copied):
    """Once, whether a publish was killed before or not; the multirun's own run is taken where it is there."""
    (copied / "reports").mkdir()
    for grid in ("depth", "width"):
        table = f"job,model.h,+search,valid,valid_seen\n0,2,{grid},30.25,28\n1,4,{grid},,\n"
        (copied / "reports" / f"search-{grid}.csv").write_text(table)
    client = tracking.open_client()
    experiment = tracking.experiment_of(client, EXPERIMENT)
    swept = client.create_run(experiment, tags={"stage": "sweep"}).info.run_id
    client.log_param(swept, "overrides", "+search=width hydra/launcher=joblib")
    for key, value in (("jobs", 2), ("best_valid", 30.2519)):
        client.log_metric(swept, key, value)
    client.set_terminated(swept)

    def published() -> dict[str, Run]:
        publish(copied)
        return {run.info.run_id: run for run in client.search_runs([experiment])}

    found = published()
    assert publisher.OUTPUT in found[swept].data.tags
    (parent,) = [run for run in found.values() if run.info.run_name == "search-depth"]
    jobs = [run for run in found.values() if run.data.tags.get(tracking.PARENT) == parent.info.run_id]
    by_h = {run.data.params["model.h"]: run.data.metrics for run in jobs}
    assert by_h == {"2": {"valid": 30.25, "valid_seen": 28}, "4": {}}
    assert published().keys() == found.keys()
    client.update_run(parent.info.run_id, status="RUNNING")  # as a killed publish leaves it
    again = published()
    assert len(again) == len(found) and parent.info.run_id not in again


def test_a_store_out_of_reach_and_a_corpus_that_is_gone_end_in_one_line(copied, capsys, monkeypatch):
    def refused() -> str:
        assert main(["publish", "--root", str(copied), "--models"]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        return line

    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{copied}/nowhere/mlflow.db")
        assert f"publishing stopped: MLFLOW_TRACKING_URI=sqlite:///{copied}/nowhere/mlflow.db: no such" in refused()
    (copied / "mlflow.db").write_text("this is no database, and long enough for SQLite to see it at once")
    assert refused().startswith("error: publishing stopped: (sqlite3.DatabaseError) file is not a database")
    (copied / "data" / "brown").unlink()
    assert f"was made from a corpus that is not in {copied}/data: run `dvc checkout`, or" in refused()
    for file in copied.rglob(record.FILE):
        file.unlink()
    assert refused() == f"error: {copied}: no results of the pipeline to publish; run `make repro`"
