"""What `publish` reads from a lock and writes into a store, on outputs of a few bytes."""

import json
import re
import subprocess
import sys
from dataclasses import asdict, is_dataclass
from importlib import import_module

import pytest
import yaml
from conftest import composed
from mlflow.entities import Run

from pipeline.commands import publish
from pipeline.running import tracking
from pipeline.running.app import ROOT
from pipeline.running.outputs import KINDS, outputs

DIGEST = "d" * 64
LISTED = {  # of the stages' own files dvc.yaml lists keys
    "conf/train.yaml": ["device", "features", "score_train"],
    "conf/cluster.yaml": ["tolerance", "passes", "thorough", "annealing", "temperature", "seed"],
    "conf/features.yaml": ["contexts", "reach"],
    "conf/shortlist.yaml": ["size"],
}


def written(root, stage: str, words: str, *files: str, out: str, **changed) -> None:
    """An output of a stage, and its entry in the lock: the values of its files as they are in conf."""
    lock, folder = root / "dvc.lock", root / out
    stages = yaml.safe_load(lock.read_text())["stages"] if lock.is_file() else {}
    params = {f"conf/{file}.yaml": yaml.safe_load((ROOT / "conf" / f"{file}.yaml").read_text()) for file in files}
    params |= {file: {key: values[key] for key in LISTED[file]} for file, values in params.items() if file in LISTED}
    params[f"conf/{files[0]}.yaml"] |= changed
    command = f"python -m pipeline.{stage} hydra.run.dir=. hydra/job_logging=stdout {words} out={out}"
    stages[out] = {"cmd": command, "params": params, "outs": [{"path": out, "md5": f"md5 of {out}"}]}
    lock.write_text(yaml.safe_dump({"stages": stages}))
    folder.mkdir(parents=True)
    (folder / KINDS[stage].file).write_text('{"valid": 2.5, "test": 2.0}')
    (folder / "weights.json").write_text('{"kn5/0": 1.0}')


def test_every_stage_that_logs_runs_is_known():
    files = (ROOT / "pipeline").glob("*.py")
    assert {file.stem for file in files if re.search(r"\btracking\.run\b", file.read_text())} == KINDS.keys()


@pytest.mark.parametrize(
    ("stage", "words", "files"),
    [
        ("train", "model=mlp9 seed=2", ["model/mlp9", "recipe/modern", "train"]),
        ("train", "model=cycling8 recipe=energy", ["model/cycling8", "recipe/energy", "recipe/modern", "train"]),
        ("train", "model=direct5-h40 recipe.frozen=true name=frozen", ["train", "recipe/modern", "model/direct5-h40"]),
        ("ngram", "ngram=class500-3", ["ngram/class500-3"]),
        ("mix", "mix=mlp2 seed=1", ["mix/mlp2"]),
        ("mix", "mix=mlp2 name=learned mix.weights=[] mix.conditional=true", ["mix/mlp2"]),
        ("cluster", "classes=150", ["cluster"]),
        ("features", "m=20", ["features"]),
        ("out_of_vocabulary", "network=mlp5/0", ["model/mlp5"]),
        ("shortlist", "name=short network=cycling5/0", ["model/cycling5", "ngram/interpolated3", "shortlist"]),
    ],
)
def test_parameters_are_what_the_stage_composes(stage, words, files, tmp_path):
    """From the lock's values and the command's words alone, defaults of the code filled in."""
    written(tmp_path, stage, words, *files, out="there")
    (output,) = outputs(tmp_path)
    config = composed(stage, import_module(f"pipeline.{stage}").Config, *words.split(), "out=there")
    values = {key: getattr(config, key) for key in KINDS[stage].logged}
    expected = {key: asdict(value) if is_dataclass(value) else value for key, value in values.items()}
    if stage == "mix":
        expected["weights"] = {"kn5/0": 1.0}
    seed = config.seed if stage in ("train", "mix") else 0
    assert output.parameters == {"stage": stage, "seed": seed} | expected
    assert output.model == getattr(config, "name", output.model)


def test_parameters_are_the_locks_where_conf_has_changed(tmp_path):
    written(tmp_path, "train", "model=mlp9", "recipe/modern", "model/mlp9", out="there", samples=7)
    (output,) = outputs(tmp_path)
    assert output.parameters["recipe"]["samples"] == 7


@pytest.fixture
def root(tmp_path, monkeypatch):
    """Two outputs of one corpus, and a store of this test."""
    written(tmp_path, "ngram", "ngram=kn5", "ngram/kn5", out="predictions/kn5/0")
    written(tmp_path, "mix", "mix=mlp2 seed=0", "mix/mlp2", out="predictions/mlp2/0")
    (tmp_path / "data" / "brown").mkdir(parents=True)
    (tmp_path / "data" / "brown" / "counts.json").write_text(json.dumps({"digest": DIGEST}))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    return tmp_path


def test_two_at_once_make_each_run_once_and_leave_others_alone(root):
    """A run under way stays so, whoever began it; one that a killed publish has begun is made again."""
    client = tracking.open_client()
    experiment = tracking.experiment_of(client)
    tags = {"stage": "ngram", "model": "kn5", "seed": "0", "data": DIGEST}
    by_hand = client.create_run(experiment, tags=tags).info.run_id
    begun = client.create_run(experiment, tags=tags | {publish.OUTPUT: "md5 of predictions/kn5/0"}).info.run_id
    command = [sys.executable, "-m", "pipeline.commands.publish", "--root", str(root), "--models"]
    started = [subprocess.Popen(command, cwd=ROOT) for _ in range(2)]
    assert [process.wait() for process in started] == [0, 0]
    runs = client.search_runs([experiment], f"tags.`{publish.OUTPUT}` LIKE 'md5%'")
    assert sorted(run.info.run_name for run in runs) == ["kn5-0", "mlp2-0"]
    assert {run.info.status for run in runs} == {"FINISHED"}
    assert len(client.search_runs([experiment])) == 4  # and their parent, and the one by hand
    assert client.get_run(by_hand).info.status == "RUNNING"
    assert client.get_run(begun).info.lifecycle_stage == "deleted"


def test_a_grid_is_published_by_its_table(root):
    """Once, whether a publish was killed before or not; the multirun's own run is taken where it is there."""
    (root / "reports").mkdir()
    for grid in ("depth", "width"):
        table = f"job,model.h,+search,valid,valid_seen\n0,2,{grid},30.25,28\n1,4,{grid},,\n"
        (root / "reports" / f"search-{grid}.csv").write_text(table)
    client = tracking.open_client()
    experiment = tracking.experiment_of(client)
    swept = client.create_run(experiment, tags={"stage": "sweep"}).info.run_id
    client.log_param(swept, "overrides", "+search=width hydra/launcher=joblib")
    for key, value in (("jobs", 2), ("best_valid_perplexity", 30.2519)):
        client.log_metric(swept, key, value)
    client.set_terminated(swept)

    def published() -> dict[str, Run]:
        publish.main(["--root", str(root), "--models"])
        return {run.info.run_id: run for run in client.search_runs([experiment])}

    found = published()
    assert publish.OUTPUT in found[swept].data.tags
    (parent,) = [run for run in found.values() if run.info.run_name == "search-depth"]
    jobs = [run for run in found.values() if run.data.tags.get(tracking.PARENT) == parent.info.run_id]
    by_h = {run.data.params["model.h"]: run.data.metrics for run in jobs}
    assert by_h == {"2": {"valid": 30.25, "valid_seen": 28}, "4": {}}
    assert published().keys() == found.keys()
    client.update_run(parent.info.run_id, status="RUNNING")  # as a killed publish leaves it
    again = published()
    assert len(again) == len(found) and parent.info.run_id not in again


def test_a_store_out_of_reach_and_a_corpus_that_is_gone_end_in_one_line(root, capsys, monkeypatch):
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("MLFLOW_TRACKING_URI", "sqlite:////nowhere/mlflow.db")
        assert "publishing stopped: MLFLOW_TRACKING_URI=sqlite:////nowhere/mlflow.db: no such" in refused(root, capsys)
    (root / "mlflow.db").write_text("this is no database, and long enough for SQLite to see it at once")
    assert refused(root, capsys).startswith("error: publishing stopped: (sqlite3.DatabaseError) file is not a database")
    (root / "data" / "brown" / "counts.json").unlink()
    assert refused(root, capsys).endswith("counts.json is not there, or an older one: run `dvc repro preprocess`")
    written(root, "ngram", "ngram=kn3 data=data/senate", "ngram/kn3", out="predictions/senate/kn3/0")
    experiment = root / "experiments" / "table2"
    experiment.mkdir(parents=True)
    entry = {"cmd": "python -m pipeline.preprocess", "outs": [{"path": "data/senate"}]}
    (experiment / "dvc.lock").write_text(yaml.safe_dump({"stages": {"preprocess": entry}}))
    (root / "data" / "brown" / "counts.json").write_text(json.dumps({"digest": DIGEST}))
    assert refused(root, capsys).endswith("run `dvc repro experiments/table2/dvc.yaml:preprocess`")


def refused(root, capsys) -> str:
    """The one line that it ends with."""
    with pytest.raises(SystemExit, match="2"):
        publish.main(["--root", str(root), "--models"])
    (line,) = capsys.readouterr().err.splitlines()
    return line
