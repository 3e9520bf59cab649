"""What `nplm publish` reads from the results of stages and writes into a store."""

import json
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import mlflow
import pandas as pd
import pytest
from mlflow.entities import Run
from mlflow.exceptions import MlflowException
from mlflow.utils.file_utils import local_file_uri_to_path
from tiny import RESULTS

from pipeline.commands.__main__ import main
from pipeline.core.common.errors import InputError
from pipeline.data import record
from pipeline.running import sweep, tracking
from pipeline.running.app import ROOT

EXPERIMENT = "nplm-brown-20-texts"  # of the corpus `few`


@pytest.fixture
def copied(results, tmp_path, monkeypatch):
    """A checkout with one n-gram and a mixture alone, and an empty store."""
    for name in ("kn3", "best-ngram"):
        part = Path("predictions", "table1", name)
        shutil.copytree(results / part, tmp_path / part, ignore=shutil.ignore_patterns("*.npy"))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "brown").symlink_to(results / "data" / "brown")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    return tmp_path


def publish(root: Path, *models: str) -> None:
    """Runs, and the models named."""
    assert main(["publish", "--root", str(root), "--models", *models]) == 0


def stored() -> dict[str, Run]:
    """Runs of models by the digest of what they show."""
    client = tracking.open_store()
    runs = client.search_runs([client.get_experiment_by_name(EXPERIMENT).experiment_id])
    complete = [run for run in runs if tracking.OUTPUT in run.data.tags]
    assert len({run.data.tags[tracking.OUTPUT] for run in complete}) == len(complete)
    return {run.data.tags[tracking.OUTPUT]: run for run in complete}


def test_an_empty_store_gets_the_runs_that_their_stages_log(results, monkeypatch):
    """And those that a stage has logged stay; to repeat it changes nothing."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{results / 'logged.db'}")
    by_stage = stored()
    publish(results)
    assert stored().keys() == by_stage.keys() and len(by_stage) == len(RESULTS)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{results / 'empty.db'}")
    publish(results)
    publish(results)
    built = stored()
    assert built.keys() == by_stage.keys()
    for key, run in built.items():
        assert (run.info.run_name, run.data.params) == (by_stage[key].info.run_name, by_stage[key].data.params)
        logged = by_stage[key].data.metrics.items()
        assert run.data.metrics == pytest.approx({name: value for name, value in logged if name[:7] != "system/"})
        assert run.inputs.dataset_inputs[0].dataset.name == "brown"
        assert run.data.tags.get(tracking.NOTE) == by_stage[key].data.tags.get(tracking.NOTE)
    notes = {run.data.tags.get(tracking.NOTE) for run in built.values()}
    papers = "MLP9. The paper's perplexity: train 175, valid 280, test 276."
    assert notes == {None, papers, "Kneser-Ney. No figure is printed."}


def test_published_models_say_what_the_command_says(results, tmp_path, monkeypatch, capsys):
    """A network of another table than its namesake, and a mixture; also beside somebody's own pipeline.py. The best is
    that of validation, here not of test."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    results = shutil.copytree(results, tmp_path / "root", symlinks=True)
    metrics = results / "predictions" / "published" / "mlp9" / "0" / "metrics.json"
    metrics.write_text(json.dumps(json.loads(metrics.read_text()) | {"valid_corrected": 1.5}))
    publish(results, "mlp9-published", "best-ngram")
    assert re.search("2 models; .*, mlp9-published, is nplm@best, version 1$", capsys.readouterr().out, re.MULTILINE)
    client = tracking.open_store()
    experiment = client.get_experiment_by_name(EXPERIMENT).experiment_id
    models = {model.name: model for model in client.search_logged_models([experiment])}
    (tmp_path / "text.txt").write_text("The jury said that it was fair.")
    for own, table, name in (("mlp9", "published", "mlp9-published"), ("best-ngram", "table1", "best-ngram")):
        place = [word for part in ("data", "clusters") for word in (f"--{part}", results / part / "brown")]
        place += ["--predictions", results / "predictions" / table]
        assert main(["score", own, str(tmp_path / "text.txt"), "--format", "json", *map(str, place)]) == 0
        scored = json.loads(capsys.readouterr().out)
        loaded = mlflow.pyfunc.load_model(f"models:/{models[name].model_id}")
        texts = ["The jury said that it was fair.", " ", None, "a\0b", "a" * 100_001]
        answer = loaded.predict(pd.DataFrame({"text": texts}))
        assert answer["perplexity"][0] == pytest.approx(scored["perplexity"], rel=1e-5)
        assert [word["word"] for word in answer["words"][0]] == [row["word"] for row in scored["rows"]]
        assert not any(answer["words"][1:]) and answer["perplexity"][1:].isna().all()
        assert answer["error"][1:].astype(bool).all()
        assert loaded.predict({"text": texts[:2]})["words"].tolist() == answer["words"][:2].tolist()
        with pytest.raises(MlflowException, match="no column `text`"):
            loaded.predict(pd.DataFrame({"sentence": texts}))
        run = client.get_run(models[name].source_run_id).info
        assert run.status == "FINISHED" and run.end_time < models[name].last_updated_timestamp
    for model in models.values():  # as when somebody deletes the artifacts
        shutil.rmtree(local_file_uri_to_path(model.artifact_location))
    publish(results, "mlp9-published", "best-ngram")
    assert "nplm@best, version 2" in capsys.readouterr().out
    (tmp_path / "pipeline.py").write_text("mine = True")
    mine = "import sys; sys.path.insert(0, '.'); import mlflow, pipeline; mlflow.pyfunc.load_model('models:/nplm@best')"
    subprocess.run([sys.executable, "-c", f"{mine}; assert pipeline.mine"], cwd=tmp_path, check=True)


def test_two_at_once_make_each_run_once_and_leave_others_alone(copied):
    """A run under way stays so; what a killed publish has begun is ended, and made again."""
    client = tracking.open_store()
    experiment = tracking.open_experiment(client, copied / "data" / "brown")
    by_hand = tracking.create(client, experiment, "by hand", {"model": "kn3"})
    killed = client.create_run(experiment, tags={tracking.PROCESS: f"{platform.node()} 1 1"}).info.run_id
    command = [sys.executable, "-m", "pipeline.commands", "publish", "--root", str(copied), "--models"]
    started = [subprocess.Popen(command, cwd=ROOT) for _ in range(2)]
    assert [process.wait() for process in started] == [0, 0]
    assert sorted(run.info.run_name for run in stored().values()) == ["best-ngram-0", "kn3-0"]
    assert {run.info.status for run in stored().values()} == {"FINISHED"}
    assert client.get_run(by_hand).info.status == "RUNNING" and client.get_run(killed).info.status == "KILLED"


def test_a_store_of_another_place_is_not_written(copied):
    """A checkout that was moved or copied: what it said of its files' place leads elsewhere."""
    client, data = tracking.open_store(), copied / "data" / "brown"
    client.create_experiment(tracking.experiment_name(data), "file:///elsewhere/mlartifacts")
    with pytest.raises(InputError, match="came here from /elsewhere/mlartifacts"):
        tracking.open_experiment(client, data)


@pytest.mark.parametrize("sign", "%?")
def test_a_path_that_no_address_can_hold_is_named(tmp_path, monkeypatch, sign):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/a{sign}20b/mlflow.db")
    with pytest.raises(InputError, match="set MLFLOW_TRACKING_URI"):
        tracking.open_store()


def test_a_grid_is_published_by_its_table(copied):
    """Once, a run with its jobs below, apart from the runs of the user: the best of those is none of its jobs."""
    (copied / "reports" / "searches").mkdir(parents=True)
    table = "job,model.h,+search,valid_corrected,valid_corrected_seen\n0,2,depth,30.25,28\n1,4,depth,,\n"
    (copied / "reports" / "searches" / "depth.csv").write_text(table)
    for _ in range(2):
        publish(copied)
    client = tracking.open_store()
    user, searches = (client.get_experiment_by_name(f"{EXPERIMENT}{end}").experiment_id for end in ("", "-searches"))
    (parent,) = client.search_runs([user, searches], "tags.stage = 'sweep'")
    assert parent.info.run_name == "search depth" and parent.data.metrics["best_valid_corrected"] == 30.25
    jobs = client.search_runs([searches], f"tags.`{tracking.PARENT}` = '{parent.info.run_id}'")
    by_h = {run.data.params["model.h"]: run.data.metrics for run in jobs}
    assert by_h == {"2": {"valid_corrected": 30.25, "valid_corrected_seen": 28}, "4": {}} and len(jobs) == 2
    own = client.search_runs([user], "metrics.valid_corrected > 0", order_by=["metrics.valid_corrected"])
    assert own[0].info.run_name in ("kn3-0", "best-ngram-0")


def test_a_grid_that_the_user_ran_is_not_published_again(copied):
    """A multirun that wrote the committed table has logged it already, among the user's runs."""
    (copied / "reports" / "searches").mkdir(parents=True)
    table = copied / "reports" / "searches" / "depth.csv"
    table.write_text("job,model.h,+search,valid_corrected\n0,2,depth,30.25\n")
    client = tracking.open_store()
    tags = {"stage": "sweep", tracking.OUTPUT: sweep.digest(table)}
    run = tracking.create(client, tracking.open_experiment(client, copied / "data" / "brown"), "own grid", tags)
    client.set_terminated(run)
    publish(copied)
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    assert [grid.info.run_id for grid in client.search_runs(experiments, "tags.stage = 'sweep'")] == [run]


def test_what_stops_a_publish_is_one_line(results, copied, capsys, monkeypatch):
    def refused(*models: str, where: Path = copied) -> str:
        assert main(["publish", "--root", str(where), "--models", *models]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        return line

    assert "kn3 can't be served; there are: best-ngram, cycling3, mlp9, " in refused("kn3", where=results)
    (copied / "mlflow.db").write_text("this is no database, and long enough for SQLite to see it at once")
    assert "publishing stopped" in refused() and "not a database" in refused()
    (copied / "data" / "brown").unlink()
    assert f"was made from a corpus that is not in {copied}/data" in refused()
    for file in copied.rglob(record.FILE):
        file.unlink()
    assert "no results of the pipeline to publish" in refused()
