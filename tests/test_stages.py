"""Stages as a user runs them by hand: errors of one line, a kill in the middle, grids, tracking out of reach."""

import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest
import torch
from conftest import architecture, run, settings
from forks import SECONDS, SERVER, Ended, Fork, call
from hydra.core.hydra_config import HydraConfig
from mlflow import MlflowClient
from safetensors.torch import load_file, save_file
from servers import free_port

from pipeline import ngram
from pipeline.config import groups
from pipeline.config.base import ROOT
from pipeline.core.common.errors import InputError
from pipeline.core.networks.registry import build
from pipeline.data.corpus import read_corpus
from pipeline.data.files import read_json, write_json
from pipeline.data.predictions import read_predictions
from pipeline.data.record import Record
from pipeline.data.weights import read_network
from pipeline.running import app, checkpoint
from pipeline.running.stage import claimed

TINY = ["model.h=4", "model.m=3", "recipe.epochs=3", "recipe.batch=64", "recipe.samples=100", "recipe.bfloat16=false"]
GRID = ["model.n=2,3", "model.h=3", "model.m=3", "recipe.epochs=1"]


@pytest.mark.parametrize("search", groups.choices("search"))
def test_a_shipped_search_composes(search):
    """The first and the last of its grid are configurations that train, and its table goes to reports."""
    entry = groups.entries("search")[search]
    grid, score_train = entry["vary"], entry.get("score_train", False)
    for corner in (0, -1):
        given = [f"{key}={values[corner]}" for key, values in grid.items()]
        assert settings("train", f"+search={search}", *given).score_train == score_train
    written = HydraConfig.get()
    assert written.callbacks.grid.table == f"reports/searches/{search}.csv"
    assert written.sweeper.params == {key: ", ".join(map(str, values)) for key, values in grid.items()}


WRONG = [("modle=mlp5", "did you mean model"), ("model=mlp4", "model/mlp4"), ("data=nowhere", "nowhere")]


@pytest.mark.parametrize(("argument", "named"), WRONG)
def test_wrong_configuration_ends_in_clear_lines(argument, named):
    ended = call("train", argument, folder=ROOT)
    assert ended.code == 2 and ended.said == ended.errors and named in ended.errors
    assert all(line.startswith("error: ") for line in ended.errors.splitlines())


@pytest.mark.parametrize("words", [["--cfg", "job", "seed=7"], ["seed=7", "--cfg", "job"], ["--cfg=job", "seed=7"]])
def test_flags_may_stand_between_overrides(words):
    ended = call("train", "model=mlp9", *words, "model.h=31", folder=ROOT)
    assert ended.code == 0 and "seed: 7" in ended.said and "h: 31" in ended.said


BITS = ("valid.npy", "test.npy", "raw/train.npy", "weights.safetensors", "curve.csv", "metrics.json")


@pytest.fixture(scope="module")
def whole(few, tmp_path_factory):
    """What an uninterrupted training of TINY writes."""
    out = tmp_path_factory.mktemp("whole")
    words = [f"data={few}", f"checkpoints={out}/checkpoints", f"out={out}", f"timing={out}/timing.json"]
    run("train", *TINY, *words)
    return out


class Stages:
    """Stages on twenty texts, with a folder for what they write and a store of their own."""

    def __init__(self, few: Path, folder: Path):
        self.few, self.folder = few, folder
        self.environment = os.environ | {"MLFLOW_TRACKING_URI": f"sqlite:///{folder}/mlflow.db", "OMP_NUM_THREADS": "1"}

    def begun(self, stage: str, *words: object, folder: Path | None = None, **environment: str) -> Fork:
        data = [] if any(str(word).startswith("data=") for word in words) else [f"data={self.few}"]
        return Fork(stage, *words, *data, environment=self.environment | environment, folder=folder)

    def words(self, *more: str) -> list[str]:
        """Of a training of TINY that writes its checkpoints at every chance."""
        places = [f"checkpoints={self.folder}/checkpoints", f"out={self.folder}/out"]
        return [*TINY, *places, "checkpoint_seconds=0", *more]

    def grid(self, *words: str, **environment: str) -> Ended:
        return self.begun("train", "-m", f"hydra.sweep.dir={self.folder}/sweep", *words, **environment).end()

    def runs(self, *stages: str) -> tuple[MlflowClient, list]:
        """The runs of some stages in the store."""
        client = MlflowClient(self.environment["MLFLOW_TRACKING_URI"])
        every = client.search_runs([client.get_experiment_by_name("nplm-brown-20-texts").experiment_id])
        return client, [run for run in every if run.data.tags["stage"] in stages]


@pytest.fixture
def stages(few, tmp_path):
    return Stages(few, tmp_path)


def killed(*processes: Fork) -> None:
    """Kills the processes of one training after its first epoch."""
    processes[0].until_says("epoch 1:")
    for process in processes:
        process.end(signal.SIGKILL)


def test_killed_and_repeated_gives_the_bits_of_an_uninterrupted_run(whole, stages):
    out, checkpoints = stages.folder / "out", stages.folder / "checkpoints"
    killed(stages.begun("train", *stages.words()))
    assert not (out / "valid.npy").exists() and list(checkpoints.glob("*.pt"))
    ended = stages.begun("train", *stages.words()).end()
    assert (ended.code, ended.errors) == (0, "")  # no progress bar where the output is no terminal
    assert "epoch 1:" not in ended.said and "epoch 3:" in ended.said
    assert [file for file in BITS if (out / file).read_bytes() != (whole / file).read_bytes()] == []
    assert not [*checkpoints.glob("*.pt*"), *checkpoints.glob(".*")]


@pytest.mark.thorough
@pytest.mark.parametrize("parallel", ["parameters", "data"])
def test_two_nodes_of_which_one_is_killed_go_on_together(parallel, whole, stages):
    """Each torchrun is a node, on this machine; up to the order of sums the result is that of one process."""
    stage = ["-m", "pipeline.train", f"data={stages.few}", *stages.words(f"parallel={parallel}")]
    environment = stages.environment | {"GLOO_SOCKET_IFNAME": "lo"}
    heard = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}

    def begun() -> list[subprocess.Popen]:
        meeting = ["--nnodes=2", "--nproc-per-node=1", "--master-addr=127.0.0.2", f"--master-port={free_port()}"]
        node = [sys.executable, "-m", "torch.distributed.run", *meeting]
        commands = [[*node, f"--node-rank={number}", *stage] for number in (0, 1)]
        return [subprocess.Popen(command, cwd=ROOT, env=environment, **heard) for command in commands]

    nodes = begun()
    next(line for line in nodes[0].stdout if "epoch 1:" in line)
    for process in [node := psutil.Process(nodes[1].pid), *node.children(recursive=True)]:
        process.kill()
    assert all(node.wait(SECONDS) for node in nodes)
    nodes = begun()
    said = nodes[0].communicate(timeout=SECONDS)[0]
    assert [node.wait(SECONDS) for node in nodes] == [0, 0] and said.count("epoch 3:") == 1, said
    assert "epoch 1:" not in said
    for file in BITS[:3]:
        assert np.load(stages.folder / "out" / file) == pytest.approx(np.load(whole / file), abs=1e-3), file
    weights = [load_file(run / "weights.safetensors") for run in (stages.folder / "out", whole)]
    assert {name: each.shape for name, each in weights[0].items()} == {k: each.shape for k, each in weights[1].items()}


def test_ctrl_c_while_a_stage_imports_ends_it_without_a_word():
    command = [sys.executable, "-m", "pipeline.train", "data=nowhere"]
    heard = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # also where tests run in the background
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, preexec_fn=heard)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.communicate()[1] == "" and process.returncode == -signal.SIGINT


def _stopped_in_a_finalizer():
    class Finalized:
        def __del__(self):
            signal.raise_signal(signal.SIGTERM)

    app.obey_signals()
    with app.ending_in_lines():
        Finalized()
        time.sleep(60)


def test_a_signal_during_a_finalizer_is_not_lost():
    process = SERVER.Process(target=_stopped_in_a_finalizer)
    process.start()
    process.join()
    assert process.exitcode == 130


@pytest.mark.parametrize("said", ["epoch 2:", "epoch 8:"], ids=["in an epoch", "while it scores"])
def test_a_training_that_is_to_stop_saves_first_and_is_one_run_in_mlflow(said, stages):
    """Though no checkpoint was due: from there it goes on, and says so."""
    words = stages.words("recipe.epochs=8", "checkpoint_seconds=3600")
    ended = stages.begun("train", *words).until_says(said).end(signal.SIGTERM)
    assert ended.code == 130
    place = re.fullmatch(
        r"error: stopped (after epoch \d, step \d+); .* repeat the command to resume from there\n", ended.errors
    )
    resumed = stages.begun("train", *words).end()
    assert resumed.code == 0 and f"resuming {place[1]}" in resumed.said, resumed.said
    assert "epoch 1:" not in resumed.said and ("epoch 8:" in ended.said) != ("epoch 8:" in resumed.said)
    client, (run,) = stages.runs("train")
    assert run.info.status == "FINISHED"
    curve = client.get_metric_history(run.info.run_id, "curve/valid_perplexity")
    assert [metric.step for metric in curve] == list(range(1, 9))
    assert {file.path for file in client.list_artifacts(run.info.run_id)} == {"run.json", "metrics.json", "curve.csv"}


def test_a_damaged_checkpoint_is_put_aside_and_the_next_stage_ends_the_killed_run(whole, stages):
    """Cut, or with one bit of a tensor flipped; training starts again."""
    killed(stages.begun("train", *stages.words()))
    client, (first,) = stages.runs("train")
    assert first.info.status == "RUNNING"
    (file,) = (stages.folder / "checkpoints").glob("*.pt")
    content, middle = file.read_bytes(), file.stat().st_size // 2
    flipped = content[:middle] + bytes([content[middle] ^ 64]) + content[middle + 1 :]
    for number, damaged in enumerate((content[:-1000], flipped)):
        file.write_bytes(damaged)
        out = stages.folder / str(number)
        words = [f"data={stages.few}", f"checkpoints={stages.folder}/checkpoints", f"timing={out}.json", f"out={out}"]
        run("train", *TINY, *words)
        assert file.with_suffix(".damaged").read_bytes() == damaged
        assert (out / "weights.safetensors").read_bytes() == (whole / "weights.safetensors").read_bytes()
    assert stages.begun("ngram", f"out={stages.folder}/kn").end().code == 0
    assert client.get_run(first.info.run_id).info.status == "KILLED"


def test_two_that_write_into_one_folder_or_one_checkpoint_are_refused(few, tmp_path):
    config = settings("ngram", f"data={few}", f"out={tmp_path}/out", f"timing={tmp_path}/timing.json")
    with claimed(tmp_path / "out"), pytest.raises(InputError, match="another process writes into this folder"):
        ngram.main(config)
    ngram.main(config)
    with checkpoint.claim(tmp_path, {"model": "x"}, []):
        with pytest.raises(InputError, match="at this very training"), checkpoint.claim(tmp_path, {"model": "x"}, []):
            pass
        with checkpoint.claim(tmp_path, {"model": "y"}, []):
            pass
    with checkpoint.claim(tmp_path, {"model": "x"}, []):
        pass


DAMAGE = {
    "train.npy cut": lambda file: file.write_bytes(file.read_bytes()[:-400]),
    "valid.npy backwards": lambda file: np.save(file, np.load(file)[::-1]),
    "vocabulary.txt in another order": lambda file: file.write_text("\n".join(sorted(file.read_text().split()))),
    "texts.csv without a line": lambda file: file.write_text("".join(file.read_text().splitlines(keepends=True)[:-1])),
    "counts.json cut": lambda file: file.write_bytes(file.read_bytes()[:100]),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_corpus_is_refused(few, tmp_path, name):
    """Else a word would stand for another, and nothing would tell."""
    shutil.copytree(few, tmp_path / "data")
    DAMAGE[name](tmp_path / "data" / name.split()[0])
    with pytest.raises(InputError, match="run preprocess again"):
        read_corpus(tmp_path / "data")


@pytest.mark.parametrize("number", [np.nan, 1e30])
def test_weights_that_no_training_leaves_are_refused(tmp_path, number):
    """Each word would have a probability all the same."""
    shape = architecture(n=3, h=4, m=3, direct=True)
    weights = {name: tensor.clone() for name, tensor in build(shape, 9).state_dict().items()}
    Record("train", "tiny", 0, {"model": shape.model_dump()}, "digest").write(tmp_path)
    save_file(weights, tmp_path / "weights.safetensors")
    read_network(tmp_path, 9)
    weights["C"][2, 1] = number
    save_file(weights, tmp_path / "weights.safetensors")
    with pytest.raises(InputError, match=r"weights\.safetensors is damaged"):
        read_network(tmp_path, 9)


@pytest.mark.parametrize("wrong", [lambda p: p * np.nan, lambda p: -p, lambda p: p[:-1], lambda p: p.astype(int)])
def test_what_is_no_array_of_log_probabilities_is_refused(tmp_path, wrong):
    """It would give a perplexity all the same."""
    right = np.full(50, -2, dtype=np.float32)
    np.save(tmp_path / "valid.npy", right)
    assert np.array_equal(read_predictions(tmp_path, "valid", 50), right)
    np.save(tmp_path / "valid.npy", wrong(right))
    with pytest.raises(InputError, match=r"valid.npy holds .*: make it again"):
        read_predictions(tmp_path, "valid", 50)


def test_only_a_regular_file_is_replaced(tmp_path):
    """What else has that name stays, and a link leads to the new file."""
    with pytest.raises(InputError, match="no regular file"):
        write_json(tmp_path, {})
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    write_json(tmp_path / "link.json", {"a": 1})
    assert (tmp_path / "link.json").is_symlink() and read_json(tmp_path / "real.json") == {"a": 1}


def test_the_papers_recipe_trains_and_one_that_goes_on_has_the_bits_of_one_of_all_epochs(few, tmp_path):
    """Full softmax, stochastic gradient descent, weight decay, in larger batches. It goes on from its like alone."""
    paper = ["recipe=paper", "recipe.batch=512", "model.h=4", "model.m=3", "score_train=1000", f"data={few}"]
    one, two, whole = (tmp_path / name for name in ("one", "two", "whole"))
    trained = functools.partial(run, "train", *paper)
    with pytest.raises(InputError, match="keep_state=true first"):
        trained(f"resume={tmp_path}/none", f"out={two}")
    trained("recipe.epochs=1", "keep_state=true", f"out={one}")
    for other in ("model.h=5", "recipe.schedule=linear"):
        with pytest.raises(InputError, match=f"resume={one}: "):
            trained(other, f"resume={one}", f"out={two}")
    trained("recipe.epochs=2", f"resume={one}", "keep_state=true", f"out={two}")
    trained("recipe.epochs=2", f"out={whole}")
    for file in ("weights.safetensors", "curve.csv", "test.npy", "metrics.json", "run.json"):
        assert (two / file).read_bytes() == (whole / file).read_bytes(), file
    assert read_json(whole / "metrics.json")["train_raw_se"] > 0 and not (whole / "raw" / "train.npy").exists()
    curve = pd.read_csv(whole / "curve.csv")
    assert curve["valid_perplexity"][1] < curve["valid_perplexity"][0]
    spent, before = (torch.load(run / "state.pt", weights_only=True)["progress"]["seconds"] for run in (two, one))
    costs = json.loads((two / "timing.json").read_text())
    assert costs["training_seconds"] == pytest.approx(spent - before)  # what the first took is told by its own file


def test_a_grid_shows_every_job_and_survives_a_failed_one(stages, tmp_path):
    kept = tmp_path / "search.csv"
    kept.write_text("of an earlier grid, whole")
    ended = stages.grid(*GRID, "model=mlp5", "model.h=0,-3", f"+hydra.callbacks.grid.table={kept}")
    assert ended.code == 1 and kept.read_text() == "of an earlier grid, whole"
    assert "error: 2 of 4 jobs failed: model.h=-3" in ended.errors
    table = pd.read_csv(tmp_path / "sweep" / "grid.csv")
    assert table["model.h"].tolist() == [0, -3, 0, -3]
    assert table["valid_corrected"].notna().tolist() == [True, False, True, False]
    assert "model.n" in (tmp_path / "sweep" / "grid.svg").read_text()
    shown = re.search(r"^ *job.*?(?=\n\n)", ended.said, re.MULTILINE | re.DOTALL)[0].splitlines()
    perplexities = ["valid_corrected", "valid_corrected_seen", "valid_raw", "train_raw"]  # none of test
    columns = ["job", "model.n", "model.h", *perplexities, "best_epoch", "train_running", "failure"]  # no constant
    assert shown[0].split() == columns and f"{table['valid_corrected'].min():.2f}" in shown[1]
    client, (parent,) = stages.runs("sweep")
    assert parent.info.status == "FAILED"
    assert {file.path for file in client.list_artifacts(parent.info.run_id)} == {"grid.csv", "grid.svg"}
    children = {run.info.run_name: run for run in stages.runs("train")[1]}
    assert {run.data.tags["mlflow.parentRunId"] for run in children.values()} == {parent.info.run_id}
    assert {name: run.info.status for name, run in children.items()} == {
        f"model.n={n}, model.h={h}": "FAILED" if h else "FINISHED" for n in (2, 3) for h in (0, -3)
    }
    assert children["model.n=2, model.h=-3"].data.tags["failure"] == table["failure"][1]
    assert children["model.n=3, model.h=0"].data.metrics["valid_corrected"] == pytest.approx(
        table["valid_corrected"][2]
    )


def test_a_grid_that_is_repeated_trains_what_is_missing_alone(stages, tmp_path):
    sweep = tmp_path / "sweep"
    assert stages.grid("model.n=2,3,4", *GRID[1:], "model=mlp5").code == 0  # one more than after it
    table = (sweep / "grid.csv").read_text().splitlines()[:3]
    (sweep / "1" / "run.json").unlink()  # as of a job that was stopped
    before = [(sweep / job / "weights.safetensors").stat().st_mtime_ns for job in "01"]
    assert stages.grid(*GRID, "model=mlp5").code == 0
    after = [(sweep / job / "weights.safetensors").stat().st_mtime_ns for job in "01"]
    assert after[0] == before[0] and after[1] > before[1] and (sweep / "grid.csv").read_text().splitlines() == table
    newest = max(stages.runs("sweep")[1], key=lambda run: run.info.start_time)
    jobs = [run for run in stages.runs("train")[1] if run.data.tags["mlflow.parentRunId"] == newest.info.run_id]
    assert sorted(run.info.run_name for run in jobs) == ["model.n=2", "model.n=3"]
    assert all(run.info.status == "FINISHED" and run.data.metrics["valid_corrected"] > 0 for run in jobs)


@pytest.mark.parametrize("given", ["data={}/none", "out={}/one", "modle=mlp5"])
def test_a_grid_that_cannot_work_ends_before_the_first_job(stages, tmp_path, given):
    ended = stages.grid("model.n=2,3", given.format(tmp_path))
    assert (ended.code, ended.errors.count("\n")) == (2, 1) and ended.errors.startswith("error: ")
    assert not (tmp_path / "sweep" / "0").exists() and not (tmp_path / "one").exists()


JOBLIB = ["hydra/launcher=joblib", "hydra.launcher.n_jobs=2"]


@pytest.mark.thorough
def test_a_grid_in_parallel_gives_the_same_numbers(stage, few, tmp_path):
    kept = f"+hydra.callbacks.grid.table={tmp_path}/search.csv"  # as a search has it
    parallel = stage("train", "-m", *GRID, f"data={few}", kept, *JOBLIB)
    assert parallel.returncode == 0, parallel.stderr
    table = pd.read_csv(tmp_path / "sweep" / "grid.csv")
    assert pd.read_csv(tmp_path / "search.csv")["valid_corrected"].tolist() == pytest.approx(
        table["valid_corrected"].tolist(), abs=0.01
    )
    assert "model.n" in (tmp_path / "search.svg").read_text()
    alone = ["model.n=3", *GRID[1:], f"data={few}", f"checkpoints={tmp_path}/checkpoints", f"out={tmp_path}/alone"]
    run("train", *alone)
    assert table["valid_corrected"][1] == pytest.approx(
        read_json(tmp_path / "alone" / "metrics.json")["valid_corrected"], rel=1e-12
    )


@pytest.mark.thorough
def test_the_jobs_of_a_grid_end_when_it_is_killed(stages, tmp_path):
    """Those side by side too."""
    long = [*stages.words("recipe.epochs=100000", "model.h=4,5"), f"hydra.sweep.dir={tmp_path}/sweep", *JOBLIB]
    grid = stages.begun("train", "-m", *(word for word in long if not word.startswith("out=")))
    grid.until(lambda: len(list(tmp_path.glob("checkpoints/*.pt"))) == 2)
    jobs = psutil.Process(grid.process.pid).children(recursive=True)
    grid.end(signal.SIGKILL)
    _, alive = psutil.wait_procs(jobs, timeout=600)
    assert len(jobs) >= 2 and not alive


def test_a_grid_of_slurm_where_there_is_none_ends_in_one_line(stages, tmp_path):
    """Where there is one: test_slurm.py."""
    ended = stages.grid(*GRID, "hydra/launcher=slurm", PATH=str(tmp_path))
    assert ended.code == 2 and ended.errors.startswith("error: hydra/launcher=slurm: no srun here")


def test_a_stage_goes_on_where_tracking_is_out_of_reach_and_does_not_tell_the_password(stages, tmp_path):
    nobody = {"MLFLOW_TRACKING_URI": "http://me:s3cret@127.0.0.1:9"}
    ended = stages.begun("ngram", f"out={tmp_path}/out", **nobody).end()
    assert ended.code == 0 and "MLflow can't be reached" in ended.said and "s3cret" not in ended.said
    assert (tmp_path / "out" / "test.npy").is_file()


def test_stages_that_begin_at_the_same_moment_have_folders_of_their_own_and_share_one_group(stages, tmp_path):
    """They meet a database that does not exist yet."""
    models = ["kn3", "kn4", "interpolated3"]
    started = [stages.begun("ngram", f"ngram={name}", folder=tmp_path) for name in models]
    ended = [process.end() for process in started]
    assert [end.code for end in ended] == [0, 0, 0] and not any("can't be reached" in end.said for end in ended)
    assert {read_json(file)["name"] for file in (tmp_path / "outputs").rglob("run.json")} == set(models)
    _, (parent,) = stages.runs("pipeline")
    _, children = stages.runs("ngram")
    assert [child.data.tags["mlflow.parentRunId"] for child in children] == [parent.info.run_id] * 3
    assert all(child.info.status == "FINISHED" and child.data.metrics["cost/seconds"] > 0 for child in children)
    assert all({"commit", "dirty", "data"} <= set(child.data.tags) for child in children)
