"""Stages as a user runs them by hand: errors of one line, a kill in the middle, grids, tracking out of reach."""

import itertools
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
import yaml
from conftest import architecture, made, settings
from mlflow import MlflowClient
from safetensors.torch import load_file, save_file

from pipeline import mix, ngram, train
from pipeline.core.networks.registry import build
from pipeline.data.corpus import read_corpus
from pipeline.data.errors import InputError
from pipeline.data.files import read_json, write_json
from pipeline.data.predictions import read_predictions
from pipeline.data.record import Record
from pipeline.data.weights import read_network
from pipeline.running import checkpoint, places
from pipeline.running.app import ROOT

TINY = ["model.h=4", "model.m=3", "recipe.epochs=3", "recipe.batch=64", "recipe.samples=100", "recipe.bfloat16=false"]
GRID = ["-m", "model.n=2,3", "model.h=3", "model.m=3", "recipe.epochs=1"]
FEW = "nplm-brown-20-texts"  # the experiment of twenty texts


@pytest.mark.parametrize("search", sorted((ROOT / "conf" / "search").glob("*.yaml")), ids=lambda path: path.stem)
def test_a_shipped_search_composes(search):
    """The corners of its grid are configurations that train, and its table goes to reports."""
    written = yaml.safe_load(search.read_text())["hydra"]
    assert written["callbacks"]["grid"]["table"] == f"reports/search-{search.stem}.csv"
    grid = {key: str(values).split(", ") for key, values in written["sweeper"]["params"].items()}
    for values in itertools.product(*((values[0], values[-1]) for values in grid.values())):
        overrides = [f"{key}={value}" for key, value in zip(grid, values, strict=True)]
        settings("train", f"+search={search.stem}", *overrides)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["modle=mlp5"], "did you mean model"),
        (["model=mlp4"], "model/mlp4"),
        (["recipe.rate=fast"], "recipe.rate"),
        (["model.n=1"], "model.n=1"),
        (["data=nowhere"], "nowhere"),
        (["out=README.md"], "out=README.md"),
    ],
)
def test_wrong_configuration_ends_in_clear_lines(stage, arguments, named):
    ended = stage("train", *arguments)
    assert (ended.returncode, ended.stdout) == (2, "") and named in ended.stderr
    assert all(line.startswith("error: ") for line in ended.stderr.splitlines())


ONE = ["-m", "pipeline.train"]
TWO = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", *ONE]
BITS = ("valid.npy", "test.npy", "raw/train.npy", "weights.safetensors", "curve.csv", "metrics.json")


@pytest.fixture(scope="module")
def whole(few, tmp_path_factory):
    """What an uninterrupted training of TINY writes."""
    out = tmp_path_factory.mktemp("whole")
    words = [f"data={few}", f"checkpoints={out}/checkpoints", f"out={out}", f"timing={out}/timing.json"]
    train.main(settings("train", *TINY, *words))
    return out


def command_of(launch: list[str], few: Path, folder: Path, *more: str) -> list[str]:
    """A training of TINY that writes into a folder and its checkpoints at every chance."""
    arguments = [*TINY, f"data={few}", f"checkpoints={folder}/checkpoints", "checkpoint_seconds=0"]
    arguments += [f"out={folder}/out", "hydra.run.dir=.", "hydra.output_subdir=null", "hydra/job_logging=stdout"]
    return [sys.executable, *launch, *arguments, *more]


def begun(command: list[str], epoch: int, stage) -> subprocess.Popen:
    """A training that has come to the end of an epoch."""
    options = {"cwd": ROOT, "env": stage.environment | {"PYTHONUNBUFFERED": "1"}, "text": True}
    process = subprocess.Popen(command, **options, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for line in process.stdout:
        if f"epoch {epoch}:" in line:
            break
    return process


def killed(command: list[str], stage) -> None:
    """Runs a training, and kills it and its processes when its first epoch has ended."""
    process = begun(command, 1, stage)
    children = psutil.Process(process.pid).children(recursive=True)
    for each in [*children, process]:  # torchrun's would live on
        each.kill()
    process.communicate()
    while any(map(lives, children)):  # a busy system takes its time, and they hold the training's lock
        time.sleep(0.01)


def lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize(
    "launch", [ONE, [*TWO, "parallel=parameters"], [*TWO, "parallel=data"]], ids=["one process", "parameters", "data"]
)
def test_killed_and_repeated_gives_the_arrays_of_an_uninterrupted_run(launch, whole, stage, few, tmp_path):
    """Bit by bit on one core; up to the order of sums on several that share a network."""
    command, out = command_of(launch, few, tmp_path), tmp_path / "out"
    killed(command, stage)
    assert not (out / "valid.npy").exists() and list((tmp_path / "checkpoints").glob("*.pt"))
    resumed = subprocess.run(command, cwd=ROOT, env=stage.environment, text=True, capture_output=True)
    assert resumed.returncode == 0, resumed.stderr
    assert resumed.stdout.count("epoch 3:") == 1  # one process alone speaks
    if launch is ONE:
        assert [file for file in BITS if (out / file).read_bytes() != (whole / file).read_bytes()] == []
        assert resumed.stderr == ""  # no progress bar where the output is no terminal
    for file in BITS[:3]:
        assert np.load(out / file) == pytest.approx(np.load(whole / file), abs=1e-3), file
    shapes = [
        {name: tensor.shape for name, tensor in load_file(run / "weights.safetensors").items()} for run in (out, whole)
    ]
    assert shapes[0] == shapes[1]
    assert not [*(tmp_path / "checkpoints").glob("*.pt*"), *(tmp_path / "checkpoints").glob(".*")]


def test_ctrl_c_while_a_stage_imports_is_one_line():
    process = subprocess.Popen([sys.executable, *ONE, "data=nowhere"], cwd=ROOT, stderr=subprocess.PIPE, text=True)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    said = process.communicate()[1]
    assert process.returncode != 0 and len(said.splitlines()) <= 1 and "Traceback" not in said


def test_a_training_that_is_told_to_stop_saves_first_and_is_one_run_in_mlflow(stage, few, tmp_path):
    """Though no checkpoint was due: from there it goes on, and says so."""
    command = command_of(ONE, few, tmp_path, "recipe.epochs=8", "checkpoint_seconds=3600")
    process = begun(command, 2, stage)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate()
    assert process.returncode == 130
    place = re.fullmatch(
        r"error: stopped (after epoch \d, step \d+); .* repeat the command to resume from there\n", said
    )
    resumed = subprocess.run(command, cwd=ROOT, env=stage.environment, text=True, capture_output=True)
    assert resumed.returncode == 0, resumed.stderr
    assert f"resuming {place[1]}" in resumed.stdout
    assert "epoch 1:" not in resumed.stdout and "epoch 8:" in resumed.stdout
    assert not list((tmp_path / "checkpoints").glob("*.run"))
    client, (run,) = runs(stage, "train")
    assert run.info.status == "FINISHED"
    curve = client.get_metric_history(run.info.run_id, "curve/valid_perplexity")
    assert [metric.step for metric in curve] == list(range(1, 9))
    assert {file.path for file in client.list_artifacts(run.info.run_id)} == {"run.json", "metrics.json", "curve.csv"}


def runs(stage, *stages: str) -> tuple[MlflowClient, list]:
    """The runs of some stages that a test's database has."""
    client = MlflowClient(stage.environment["MLFLOW_TRACKING_URI"])
    found = client.search_runs([client.get_experiment_by_name(FEW).experiment_id])
    return client, [run for run in found if run.data.tags["stage"] in stages]


def _flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 64]) + content[middle + 1 :]


def test_a_damaged_checkpoint_is_put_aside_and_training_starts_again(whole, stage, few, tmp_path):
    """Cut, or with one bit of a tensor flipped."""
    killed(command_of(ONE, few, tmp_path), stage)
    (file,) = (tmp_path / "checkpoints").glob("*.pt")
    content = file.read_bytes()
    words = [f"data={few}", f"checkpoints={tmp_path}/checkpoints", f"timing={tmp_path}/timing.json"]
    for number, damaged in enumerate((content[:-1000], _flipped(content))):
        file.write_bytes(damaged)
        out = tmp_path / str(number)
        train.main(settings("train", *TINY, *words, f"out={out}"))
        assert file.with_suffix(".damaged").read_bytes() == damaged
        assert (out / "weights.safetensors").read_bytes() == (whole / "weights.safetensors").read_bytes()


def test_two_that_write_into_one_folder_are_refused(few, tmp_path):
    config = settings("ngram", f"data={few}", f"out={tmp_path}/out", f"timing={tmp_path}/timing.json")
    with places.claimed(tmp_path / "out"), pytest.raises(InputError, match="another process writes into this folder"):
        ngram.main(config)
    ngram.main(config)


def test_a_training_under_way_keeps_a_second_one_out(tmp_path):
    with checkpoint.claim(tmp_path, {"model": "x"}, []):
        with pytest.raises(InputError, match="at this very training"), checkpoint.claim(tmp_path, {"model": "x"}, []):
            pass
        with checkpoint.claim(tmp_path, {"model": "y"}, []):
            pass
    with checkpoint.claim(tmp_path, {"model": "x"}, []):
        pass


def _moved(file: Path) -> None:
    """All ids one after the other are the same."""
    train, valid = file, file.with_name("valid.npy")
    both, cut = np.concatenate([np.load(train), np.load(valid)]), len(np.load(train)) - 10
    np.save(train, both[:cut])
    np.save(valid, both[cut:])


DAMAGE = {
    "train.npy cut": lambda file: file.write_bytes(file.read_bytes()[:-400]),
    "train.npy whose end moved to validation": _moved,
    "valid.npy backwards": lambda file: np.save(file, np.load(file)[::-1]),
    "test.npy of another type": lambda file: np.save(file, np.load(file).astype(np.int64)),
    "vocabulary.txt in another order": lambda file: file.write_text(
        "".join(sorted(file.read_text().splitlines(keepends=True)))
    ),
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


@pytest.mark.parametrize(
    "wrong", [lambda p: p * np.nan, lambda p: -p, lambda p: p[:-1], lambda p: p.astype(int), lambda p: p - np.inf]
)
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
    os.mkfifo(tmp_path / "pipe")
    for timing in (tmp_path / "pipe", tmp_path):
        with pytest.raises(InputError, match="no regular file"):
            write_json(timing, {})
    (tmp_path / "real.json").write_text("{}")
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    write_json(tmp_path / "link.json", {"a": 1})
    assert (tmp_path / "link.json").is_symlink() and read_json(tmp_path / "real.json") == {"a": 1}


def test_a_run_whose_process_was_killed_is_ended_by_the_next_one(stage, few, tmp_path):
    killed(command_of(ONE, few, tmp_path, "recipe.epochs=1000"), stage)
    client, (run,) = runs(stage, "train")
    assert run.info.status == "RUNNING"
    assert stage("ngram", f"data={few}", f"out={tmp_path}/kn").returncode == 0
    assert client.get_run(run.info.run_id).info.status == "KILLED"


def test_the_papers_recipe_trains_and_one_that_goes_on_has_the_bits_of_one_of_all_epochs(few, tmp_path):
    """Full softmax, gradient ascent, weight decay, in larger batches. It goes on from its like alone."""
    paper = ["recipe=paper", "recipe.batch=512", "model.h=4", "model.m=3", f"data={few}"]
    one, two, whole = (tmp_path / name for name in ("one", "two", "whole"))

    def trained(*arguments):
        train.main(settings("train", *paper, *arguments))

    with pytest.raises(InputError, match="keep_state=true first"):
        trained(f"resume={tmp_path}/none", f"out={two}")
    trained("recipe.epochs=1", "keep_state=true", f"out={one}")
    for other in ("model.h=5", "recipe.schedule=linear"):
        with pytest.raises(InputError, match=f"resume={one}: "):
            trained(other, f"resume={one}", f"out={two}")
    trained("recipe.epochs=2", f"resume={one}", "keep_state=true", f"out={two}")
    trained("recipe.epochs=2", f"out={whole}")
    for file in ("weights.safetensors", "curve.csv", "test.npy", "run.json"):
        assert (two / file).read_bytes() == (whole / file).read_bytes(), file
    curve = pd.read_csv(whole / "curve.csv")
    assert curve["valid_perplexity"][1] < curve["valid_perplexity"][0]
    spent, before = (torch.load(run / "state.pt", weights_only=True)["progress"]["seconds"] for run in (two, one))
    costs = json.loads((two / "timing.json").read_text())
    assert costs["training_seconds"] == pytest.approx(spent - before)  # what the first took is told by its own file


def test_a_grid_shows_every_job_and_survives_a_failed_one(stage, few, tmp_path):
    grid = ["-m", "model=mlp5", "model.n=2,3", "model.h=0,-3", "model.m=3", "recipe.epochs=1", f"data={few}"]
    (tmp_path / "search.csv").write_text("of an earlier grid, whole")
    ended = stage("train", *grid, f"+hydra.callbacks.grid.table={tmp_path}/search.csv")
    assert ended.returncode == 1
    assert (tmp_path / "search.csv").read_text() == "of an earlier grid, whole"
    assert "error: 2 of 4 jobs failed: model.h=-3" in ended.stderr
    assert ended.stdout.endswith(f"\n{tmp_path}/sweep/grid.csv\n{tmp_path}/sweep/grid.svg\n")
    table = pd.read_csv(tmp_path / "sweep" / "grid.csv")
    assert table["model.h"].tolist() == [0, -3, 0, -3]
    assert "model.n" in (tmp_path / "sweep" / "grid.svg").read_text()
    assert table["valid"].notna().tolist() == [True, False, True, False]
    assert all(f"{value:.2f}" in ended.stdout for value in table["valid"].dropna())
    client, (parent,) = runs(stage, "sweep")
    assert {file.path for file in client.list_artifacts(parent.info.run_id)} == {"grid.csv", "grid.svg"}
    children = {run.info.run_name: run for run in runs(stage, "train")[1]}
    assert {run.data.tags["mlflow.parentRunId"] for run in children.values()} == {parent.info.run_id}
    assert {name: run.info.status for name, run in children.items()} == {
        f"model.n={n}, model.h={h}": "FAILED" if h else "FINISHED" for n in (2, 3) for h in (0, -3)
    }
    assert children["model.n=2, model.h=-3"].data.tags["failure"] == table["failure"][1]
    figures = [run.data.metrics["valid"] for run in children.values() if "valid" in run.data.metrics]
    assert sorted(figures) == pytest.approx(sorted(table["valid"].dropna()))
    heads, best, *_ = re.search(r"^ *job.*?(?=\n\n)", ended.stdout, re.MULTILINE | re.DOTALL)[0].splitlines()
    assert heads.split() == [
        "job",
        "model.n",
        "model.h",
        "valid",
        "valid_seen",
        "valid_raw",
        "best_epoch",
        "running",
        "failure",
    ]  # no constant, no test
    assert f"{table['valid'].min():.2f}" in best


@pytest.mark.parametrize("given", ["data={}/none", "out={}/one"])
def test_a_grid_without_its_corpus_or_with_one_folder_for_all_ends_before_the_first_job(stage, few, tmp_path, given):
    ended = stage("train", "-m", "model.n=2,3", f"data={few}", given.format(tmp_path))
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1) and ended.stderr.startswith("error: ")
    assert not (tmp_path / "sweep" / "0").exists() and not (tmp_path / "one").exists()


def test_a_grid_in_parallel_gives_the_same_numbers(stage, few, tmp_path):
    kept = f"+hydra.callbacks.grid.table={tmp_path}/search.csv"  # as conf/search/*.yaml have it
    parallel = stage("train", *GRID, f"data={few}", kept, "hydra/launcher=joblib", "hydra.launcher.n_jobs=2")
    assert parallel.returncode == 0, parallel.stderr
    table = pd.read_csv(tmp_path / "sweep" / "grid.csv")
    assert pd.read_csv(tmp_path / "search.csv")["valid"].tolist() == pytest.approx(table["valid"].tolist(), abs=0.01)
    assert "model.n" in (tmp_path / "search.svg").read_text()
    alone = ["model.n=3", *GRID[2:], f"data={few}", f"checkpoints={tmp_path}/checkpoints", f"out={tmp_path}/alone"]
    train.main(settings("train", *alone))
    assert table["valid"][1] == pytest.approx(read_json(tmp_path / "alone" / "metrics.json")["valid"], rel=1e-12)


def test_the_jobs_of_a_grid_end_when_it_is_killed(stage, few, tmp_path):
    """Those side by side too."""
    long = [*TINY, "recipe.epochs=100000", "model.h=4,5", f"data={few}"]
    long += [f"checkpoints={tmp_path}/checkpoints", "checkpoint_seconds=0"]
    places = [f"hydra.sweep.dir={tmp_path}/sweep", "hydra/launcher=joblib", "hydra.launcher.n_jobs=2"]
    command = [sys.executable, "-m", "pipeline.train", "-m", *long, *places]
    grid = psutil.Popen(command, cwd=ROOT, env=stage.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 600
        while len(list(tmp_path.glob("checkpoints/*.pt"))) < 2 and time.monotonic() < end:
            time.sleep(0.1)
        jobs = grid.children(recursive=True)
    finally:
        grid.kill()
        grid.wait()
    _, alive = psutil.wait_procs(jobs, timeout=600)
    assert len(jobs) >= 2 and not alive


@pytest.mark.peers
def test_a_grid_through_submitit_gives_the_same_numbers(stage, few, tmp_path):
    """Its local executor; SLURM's, which needs a cluster, composes."""
    ended = stage("train", *GRID, f"data={few}", "hydra/launcher=submitit_local", "hydra.launcher.timeout_min=5")
    assert ended.returncode == 0, ended.stderr
    table = pd.read_csv(tmp_path / "sweep" / "grid.csv")
    assert table["model.n"].tolist() == [2, 3] and table["valid"].notna().all()
    shown = [sys.executable, "-m", "pipeline.train", "hydra/launcher=slurm", "--cfg", "hydra", "-p", "hydra.launcher"]
    composed = subprocess.run(shown, cwd=ROOT, capture_output=True, text=True)
    assert "SlurmLauncher" in composed.stdout and "mem_gb: 4" in composed.stdout, composed.stderr
    elsewhere = stage("train", *GRID, f"data={few}", "hydra/launcher=slurm")
    assert elsewhere.returncode == 2 and elsewhere.stderr.startswith("error: hydra/launcher=slurm: no srun here")


def test_a_stage_goes_on_where_tracking_is_out_of_reach_and_does_not_tell_the_password(stage, few, tmp_path):
    nobody = stage.environment | {"MLFLOW_TRACKING_URI": "http://me:s3cret@127.0.0.1:9"}
    ended = stage("ngram", f"data={few}", f"out={tmp_path}/out", env=nobody)
    said = ended.stdout + ended.stderr
    assert ended.returncode == 0 and "MLflow can't be reached" in said and "s3cret" not in said
    assert (tmp_path / "out" / "test.npy").is_file()


def test_stages_that_begin_at_the_same_moment_have_folders_of_their_own_and_share_one_group(stage, few, tmp_path):
    """They meet a database that does not exist yet; that a library warns is no error of theirs."""
    models = ["kn3", "kn4", "interpolated3"]
    command = [sys.executable, "-m", "pipeline.ngram", f"data={few}"]
    where = {"cwd": tmp_path, "text": True, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    where["env"] = stage.environment | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
    started = [subprocess.Popen([*command, f"ngram={name}"], **where) for name in models]
    output = "".join(process.communicate()[0] for process in started)
    assert [process.returncode for process in started] == [0, 0, 0] and "can't be reached" not in output
    assert {read_json(file)["name"] for file in (tmp_path / "outputs").rglob("run.json")} == set(models)
    _, (parent,) = runs(stage, "pipeline")
    _, children = runs(stage, "ngram")
    assert [child.data.tags["mlflow.parentRunId"] for child in children] == [parent.info.run_id] * 3
    assert all(child.info.status == "FINISHED" and child.data.metrics["cost/seconds"] > 0 for child in children)
    assert all({"commit", "dirty", "data"} <= set(child.data.tags) for child in children)


def test_a_mixture_refuses_arrays_of_another_corpus(few, tmp_path):
    for name in ("mlp9", "interpolated3"):
        (tmp_path / name / "0").mkdir(parents=True)
        for split in ("valid", "test"):
            np.save(tmp_path / name / "0" / f"{split}.npy", np.full(5, -1.0, dtype=np.float32))
        Record("train", name, 0, {}, "of another corpus").write(tmp_path / name / "0")
    with pytest.raises(InputError, match=r"mlp9/0 was made from another corpus"):
        mix.main(settings("mix", f"data={few}", f"predictions=[{tmp_path}]", f"out={tmp_path}/out"))


def test_learned_weights_are_no_worse_than_equal_ones_on_validation(few, tmp_path):
    corpus = read_corpus(few)
    for number, name in enumerate(("mlp9", "interpolated3")):
        random = np.random.default_rng(number)
        raw = made(tmp_path / name / "0", corpus, "train") / "raw"
        raw.mkdir(exist_ok=True)
        for split in ("valid", "test"):
            np.save(raw / f"{split}.npy", -random.exponential(3 + number, len(corpus.ids(split))).astype(np.float32))
    found = {}
    for weights in ("[]", "[0.5,0.5]"):
        out = tmp_path / f"out{weights}"
        arguments = [f"data={few}", f"predictions=[{tmp_path}]", f"mix.weights={weights}", f"out='{out}'"]
        mix.main(settings("mix", *arguments))
        found[weights] = read_json(out / "metrics.json")["valid_raw"]
        assert sum(read_json(out / "weights.json").values()) == pytest.approx(1)
    assert found["[]"] < found["[0.5,0.5]"]
