"""Stages as a user runs them by hand: errors of one line, a kill in the middle, grids, tracking out of reach."""

import itertools
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest
import torch
import yaml
from conftest import composed, made
from mlflow import MlflowClient
from safetensors.torch import load_file, save_file

from pipeline import (
    adapt,
    claims,
    cluster,
    download,
    features,
    mix,
    ngram,
    out_of_vocabulary,
    page,
    preprocess,
    replication,
    report,
    shortlist,
    timeline,
    train,
    word_map,
)
from pipeline.core.networks.base import Architecture, build
from pipeline.data.corpus import read_corpus
from pipeline.data.errors import InputError
from pipeline.data.files import read_json, write_json
from pipeline.data.predictions import read_predictions
from pipeline.data.record import Record
from pipeline.data.weights import read_network
from pipeline.running import checkpoint, recorded
from pipeline.running.app import ROOT

TINY = ["model.h=4", "model.m=3", "recipe.epochs=3", "recipe.batch=64", "recipe.samples=100", "recipe.bfloat16=false"]
FEW = "nplm-brown-20-texts"  # the experiment of twenty texts
STAGES = {
    "claims": claims,
    "page": page,
    "features": features,
    "out_of_vocabulary": out_of_vocabulary,
    "shortlist": shortlist,
    "word_map": word_map,
    "download": download,
    "preprocess": preprocess,
    "cluster": cluster,
    "ngram": ngram,
    "train": train,
    "mix": mix,
    "report": report,
    "replication": replication,
    "adapt": adapt,
    "timeline": timeline,
}


@pytest.mark.parametrize("stage_name", STAGES)
def test_every_shipped_config_composes(stage_name):
    """Each stage as it stands, and with each file of each of its groups."""
    schema = STAGES[stage_name].Config
    composed(stage_name, schema)
    defaults = yaml.safe_load((ROOT / "conf" / f"{stage_name}.yaml").read_text())["defaults"]
    for group in [next(iter(entry)) for entry in defaults if isinstance(entry, dict)]:
        for file in (ROOT / "conf" / group).glob("*.yaml"):
            more = {"text": ["corpus.raw=x"], "arpa": ["ngram.path=x"]}.get(file.stem, [])
            composed(stage_name, schema, f"{group}={file.stem}", *more)


@pytest.mark.parametrize("search", sorted((ROOT / "conf" / "search").glob("*.yaml")), ids=lambda path: path.stem)
def test_a_shipped_search_composes(search):
    """The corners of its grid are configurations that train, and its table goes to reports."""
    written = yaml.safe_load(search.read_text())["hydra"]
    assert written["callbacks"]["grid"]["table"] == f"reports/search-{search.stem}.csv"
    grid = {key: str(values).split(", ") for key, values in written["sweeper"]["params"].items()}
    for values in itertools.product(*((values[0], values[-1]) for values in grid.values())):
        overrides = [f"{key}={value}" for key, value in zip(grid, values, strict=True)]
        composed("train", train.Config, f"+search={search.stem}", *overrides)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["modle=mlp5"], "error: modle: train has no such key; did you mean model? `python -m pipeline.train --help`"),
        (["+modle=mlp5"], "error: modle: train has no such key; did you mean model?"),
        (["++model.hh=5"], "error: model.hh: train has no such key; did you mean model.h?"),
        (["epochs=5"], "error: epochs: train has no such key; did you mean recipe.epochs?"),
        (["-m", "seeed=0,1"], "error: seeed: train has no such key; did you mean seed?"),
        (["~sede"], "error: sede: train has no such key; did you mean seed?"),
        (["model.hidden=3"], "error: model.hidden: train has no such key;"),
        (["model=mlp4"], "error: model=mlp4: choose one of awd-lstm, bigram, bigram-linear, "),
        (["model=null"], "error: model=null: choose one of awd-lstm, bigram, "),
        (["recipe=[1]"], "error: recipe=[1]: choose one of awd-lstm, energy, "),
        (["-m", "model=mlp1,mlp4"], "error: model=mlp4: choose one of awd-lstm, bigram, "),
        (["+search=recip"], "error: search=recip: choose one of context-direct, "),
        (["seed=-1"], "seed=-1: can't be negative"),
        (["checkpoint_seconds=nan"], "checkpoint_seconds=nan: must be a finite number"),
        (["model.n=100000000000"], "model.n=100000000000: at most 100,000"),
        (["model.deep.tied=x"], "error: model.deep.tied: what is chosen has no model.deep; choose a file that has it"),
        (["model=lstm", "model.deep.tied=x"], "error: model.deep.tied: Value 'x' is not a valid bool"),
        (["model.n=1"], "model.n=1: the network needs at least one word of context"),
        (["model.h=-1"], "model.h=-1: hidden units can't be negative"),
        (["recipe.rate=fast"], "error: recipe.rate: Value 'fast' of type 'str' could not be converted to Float"),
        (["device=cuda:99"], "has no CUDA"),
        (["device=tpu"], "device=tpu: choose cpu, cuda or cuda:N"),
        (["parallel=both"], "choose one of none, threads, data, parameters"),
        (["parallel=data", "model=cycling5"], "only the feedforward family trains so"),
        (["data=nowhere"], "no preprocessed corpus in nowhere"),
        (["timing="], "timing is empty: give a path"),
        (["out=README.md"], "out=README.md is no folder: give one, or a place where nothing is yet"),
        (["timing=docs"], "timing=docs is no file: give one, or a place where nothing is yet"),
    ],
)
def test_wrong_configuration_ends_in_one_clear_line(stage, arguments, says):
    ended = stage("train", *arguments)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.count("\n") == 1 and ended.stderr.startswith("error: ")
    assert says in ended.stderr


def test_what_a_list_refers_to_is_checked_too(stage):
    ended = stage("mix", "predictions=${seed}")
    assert ended.returncode == 2 and ended.stderr.startswith("error: predictions: Invalid value assigned")
    assert ended.stderr.count("\n") == 1


ONE = ["-m", "pipeline.train"]
TWO = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", *ONE]


@pytest.fixture(scope="module")
def whole(few, tmp_path_factory):
    """What an uninterrupted training of TINY writes."""
    out = tmp_path_factory.mktemp("whole")
    settings = [f"data={few}", f"checkpoints={out}/checkpoints", f"out={out}", "hydra.output_subdir=null"]
    settings += ["hydra.run.dir=.", "hydra/job_logging=stdout"]
    environment = os.environ | {"MLFLOW_TRACKING_URI": f"sqlite:///{out / 'mlflow.db'}"}
    subprocess.run([sys.executable, "-m", "pipeline.train", *TINY, *settings], cwd=ROOT, env=environment, check=True)
    return out


def command_of(launch: list[str], few: Path, folder: Path) -> list[str]:
    """A training of TINY that writes into a folder and its checkpoints at every chance."""
    arguments = [*TINY, f"data={few}", f"checkpoints={folder}/checkpoints", "checkpoint_seconds=0"]
    arguments += [f"out={folder}/out", "hydra.run.dir=.", "hydra.output_subdir=null", "hydra/job_logging=stdout"]
    return [sys.executable, *launch, *arguments]


def same_up_to_the_order_of_sums(found: Path, expected: Path) -> None:
    for file in ("valid.npy", "test.npy", "raw/train.npy"):
        assert np.load(found / file) == pytest.approx(np.load(expected / file), abs=1e-3), file
    ours, theirs = (load_file(run / "weights.safetensors") for run in (found, expected))
    assert {name: tensor.shape for name, tensor in ours.items()} == {k: v.shape for k, v in theirs.items()}


@pytest.mark.parametrize(
    "launch",
    [ONE, [*ONE, "parallel=threads"], [*TWO, "parallel=parameters"], [*TWO, "parallel=data"]],
    ids=["one process", "threads", "parameters", "data"],
)
def test_killed_and_repeated_gives_the_arrays_of_an_uninterrupted_run(launch, whole, stage, few, tmp_path):
    """Bit by bit on one core; up to the order of sums on several that share a network."""
    command, out = command_of(launch, few, tmp_path), tmp_path / "out"
    how = {"cwd": ROOT, "env": stage.environment | {"PYTHONUNBUFFERED": "1"}, "text": True}
    process = subprocess.Popen(command, **how, stdout=subprocess.PIPE)
    for line in process.stdout:
        if "epoch 1:" in line:
            break
    time.sleep(0.05)
    for each in [*psutil.Process(process.pid).children(recursive=True), process]:  # torchrun's would live on
        each.kill()
    process.wait()
    process.stdout.close()
    assert not (out / "valid.npy").exists()
    assert list((tmp_path / "checkpoints").glob("*.pt"))

    resumed = subprocess.run(command, **how, capture_output=True)
    assert resumed.returncode == 0, resumed.stderr
    assert resumed.stdout.count("epoch 3:") == 1  # one process alone speaks
    same_up_to_the_order_of_sums(out, whole)
    if launch is ONE:
        for file in ("valid.npy", "test.npy", "raw/train.npy", "weights.safetensors", "curve.csv", "metrics.json"):
            assert (out / file).read_bytes() == (whole / file).read_bytes(), file
    if launch[:2] == ONE:
        assert resumed.stderr == ""  # no progress bar where the output is no terminal
    assert not list((tmp_path / "checkpoints").glob("*.pt*"))  # nothing is left of what is done
    assert not list((tmp_path / "checkpoints").glob(".*"))


@pytest.mark.parametrize("seconds", [0.3, 0.8])
def test_ctrl_c_while_a_stage_imports_is_one_line(seconds):
    process = subprocess.Popen(
        [sys.executable, "-m", "pipeline.train", "data=nowhere"], cwd=ROOT, stderr=subprocess.PIPE
    )
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    said = process.communicate()[1].decode()
    assert process.returncode != 0 and len(said.splitlines()) <= 1 and "Traceback" not in said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_training_that_is_told_to_stop_saves_first_and_is_one_run_in_mlflow(number, stage, few, tmp_path):
    """Though no checkpoint was due: from there it goes on, and says so."""
    command = [*command_of(ONE, few, tmp_path), "recipe.epochs=8", "checkpoint_seconds=3600"]
    how = {"cwd": ROOT, "env": stage.environment | {"PYTHONUNBUFFERED": "1"}, "text": True}
    process = subprocess.Popen(command, **how, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for line in process.stdout:
        if "epoch 2:" in line:
            break
    process.send_signal(number)
    _, said = process.communicate()
    assert process.returncode == 130
    word, total = re.fullmatch(
        r"error: stopped at word ([\d,]+) of ([\d,]+); the state is saved in .*\.pt; repeat the command to resume .*\n",
        said,
    ).groups()

    resumed = subprocess.run(command, **how, capture_output=True)
    assert resumed.returncode == 0, resumed.stderr
    assert f"resuming from word {word} of {total}\n" in resumed.stdout
    assert "epoch 1:" not in resumed.stdout and "epoch 8:" in resumed.stdout
    client = MlflowClient(stage.environment["MLFLOW_TRACKING_URI"])
    (run,) = client.search_runs([client.get_experiment_by_name(FEW).experiment_id], "tags.stage = 'train'")
    assert run.info.status == "FINISHED"
    curve = client.get_metric_history(run.info.run_id, "curve/valid_perplexity")
    assert [metric.step for metric in curve] == list(range(1, 9))
    assert {file.path for file in client.list_artifacts(run.info.run_id)} == {"run.json", "metrics.json", "curve.csv"}


def _flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 64]) + content[middle + 1 :]


@pytest.mark.parametrize("damaged", [lambda content: content[:-1000], _flipped], ids=["cut", "a bit of a tensor"])
def test_a_damaged_checkpoint_is_put_aside_and_training_starts_again(damaged, whole, stage, few, tmp_path):
    command = [*command_of(ONE, few, tmp_path)]
    process = subprocess.Popen(command, cwd=ROOT, env=stage.environment, stdout=subprocess.PIPE)
    for line in process.stdout:
        if b"epoch 1:" in line:
            break
    process.kill()
    process.communicate()
    (checkpoint_file,) = (tmp_path / "checkpoints").glob("*.pt")
    checkpoint_file.write_bytes(damaged(checkpoint_file.read_bytes()))
    ended = subprocess.run(command, cwd=ROOT, env=stage.environment, text=True, capture_output=True)
    assert ended.returncode == 0 and f"the file is now {checkpoint_file.with_suffix('.damaged')}" in ended.stdout
    assert (tmp_path / "out" / "weights.safetensors").read_bytes() == (whole / "weights.safetensors").read_bytes()


def test_two_that_write_into_one_folder_are_refused(few, tmp_path):
    config = composed("ngram", ngram.Config, f"data={few}", f"out={tmp_path}/out", f"timing={tmp_path}/timing.json")
    with recorded.claimed(tmp_path / "out"), pytest.raises(InputError, match="another process writes into this folder"):
        ngram.main(config)
    ngram.main(config)


DAMAGE = {
    "train.npy cut": lambda file: file.write_bytes(file.read_bytes()[:-400]),
    "train.npy with a header that is no Python": lambda file: file.write_bytes(
        file.read_bytes().replace(b"), }", b", ((")
    ),
    "valid.npy backwards": lambda file: np.save(file, np.load(file)[::-1]),
    "test.npy of another type": lambda file: np.save(file, np.load(file).astype(np.int64)),
    "vocabulary.txt with a word more": lambda file: file.write_text(file.read_text().replace("\n", "\nthe\n", 1)),
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
    with pytest.raises(
        InputError, match=r"the corpus in .*/data is not as preprocess wrote it: .*; run preprocess again"
    ):
        read_corpus(tmp_path / "data")


def test_a_corpus_whose_ids_moved_to_another_split_is_refused(few, tmp_path):
    """All ids one after the other are the same."""
    shutil.copytree(few, tmp_path / "data")
    train, valid = (tmp_path / "data" / f"{split}.npy" for split in ("train", "valid"))
    both = np.concatenate([np.load(train), np.load(valid)])
    cut = len(np.load(train)) - 10
    np.save(train, both[:cut])
    np.save(valid, both[cut:])
    with pytest.raises(InputError, match="a split is longer or shorter"):
        read_corpus(tmp_path / "data")


@pytest.mark.parametrize("number", [np.nan, 1e30])
def test_weights_that_no_training_leaves_are_refused(tmp_path, number):
    """Each word would have a probability all the same."""
    shape = Architecture(n=3, h=4, m=3)
    weights = {name: tensor.clone() for name, tensor in build(shape, 9).state_dict().items()}
    Record("train", "tiny", 0, {"model": asdict(shape)}, "digest").write(tmp_path)
    save_file(weights, tmp_path / "weights.safetensors")
    read_network(tmp_path, 9)
    weights["C"][2, 1] = number
    save_file(weights, tmp_path / "weights.safetensors")
    with pytest.raises(InputError, match=r"weights\.safetensors is damaged: it holds numbers that no training leaves"):
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
        with pytest.raises(InputError, match="is no regular file, and only such a file is replaced"):
            write_json(timing, {})
    (tmp_path / "real.json").write_text("{}")
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    write_json(tmp_path / "link.json", {"a": 1})
    assert (tmp_path / "link.json").is_symlink() and read_json(tmp_path / "real.json") == {"a": 1}


def test_a_run_whose_process_was_killed_is_ended_by_the_next_one(stage, few, tmp_path):
    process = subprocess.Popen(
        [*command_of(ONE, few, tmp_path), "recipe.epochs=1000"], cwd=ROOT, env=stage.environment, stdout=subprocess.PIPE
    )
    for line in process.stdout:
        if b"epoch 1:" in line:
            break
    process.kill()
    process.communicate()
    client = MlflowClient(stage.environment["MLFLOW_TRACKING_URI"])
    experiment = client.get_experiment_by_name(FEW).experiment_id
    (killed,) = client.search_runs([experiment], "attributes.status = 'RUNNING'")
    assert stage("ngram", f"data={few}", f"out={tmp_path}/kn").returncode == 0
    assert client.get_run(killed.info.run_id).info.status == "KILLED"


def test_the_papers_recipe_trains(stage, few, tmp_path):
    """Full softmax, gradient ascent, weight decay, as shipped but for the number of epochs."""
    short = ["recipe=paper", "recipe.epochs=2", "model.h=4", "model.m=3", f"data={few}", f"out={tmp_path}/out"]
    ended = stage("train", *short)
    assert ended.returncode == 0, ended.stderr
    curve = pd.read_csv(tmp_path / "out" / "curve.csv")
    assert curve["valid_perplexity"][1] < curve["valid_perplexity"][0]


def test_a_training_that_goes_on_has_the_bits_of_one_training_of_all_epochs(few, tmp_path):
    paper = ["recipe=paper", "recipe.batch=512", "model.h=4", "model.m=3", f"data={few}"]
    one, two, whole = (tmp_path / name for name in ("one", "two", "whole"))
    for arguments in (
        ["recipe.epochs=1", "keep_state=true", f"out={one}"],
        ["recipe.epochs=2", f"resume={one}", "keep_state=true", f"out={two}"],
        ["recipe.epochs=2", f"out={whole}"],
    ):
        train.main(composed("train", train.Config, *paper, *arguments))
    for file in ("weights.safetensors", "curve.csv", "test.npy", "run.json"):
        assert (two / file).read_bytes() == (whole / file).read_bytes(), file
    spent = torch.load(two / "state.pt", weights_only=True)["progress"]["seconds"]
    before = torch.load(one / "state.pt", weights_only=True)["progress"]["seconds"]
    costs = json.loads((two / "timing.json").read_text())
    assert costs["training_seconds"] == pytest.approx(spent - before)  # what the first took is told by its own file


def test_a_training_goes_on_from_its_like_alone(few, tmp_path):
    def refused(*arguments):
        with pytest.raises(InputError) as error:
            train.main(composed("train", train.Config, f"data={few}", f"out={tmp_path}/on", *arguments))
        return str(error.value)

    assert "no state.pt; train with keep_state=true first" in refused("recipe=paper", f"resume={tmp_path}/none")
    small = ["recipe=paper", "recipe.epochs=1", "recipe.batch=512", "model.h=4", "model.m=3", f"data={few}"]
    train.main(composed("train", train.Config, *small, "keep_state=true", f"out={tmp_path}/one"))
    assert "another model, recipe;" in refused("recipe=paper", f"resume={tmp_path}/one")
    assert "schedule=linear follows from recipe.epochs" in refused(f"resume={tmp_path}/one")


def test_several_processes_keep_no_state(stage, few, tmp_path):
    command = [*command_of([*TWO, "parallel=data"], few, tmp_path), "keep_state=true"]
    ended = subprocess.run(command, cwd=ROOT, env=stage.environment, text=True, capture_output=True)
    assert ended.returncode != 0
    assert "resume and keep_state are for one process, and these are 2" in ended.stderr


def test_a_training_under_way_keeps_a_second_one_out(tmp_path):
    claim = f"c.claim(Path({str(tmp_path)!r}), {{'model': 'x'}}, [])"
    code = f"from pathlib import Path; from pipeline.training import checkpoint as c\nwith {claim}: pass"
    with checkpoint.claim(tmp_path, {"model": "x"}, []):
        second = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert "another process is at this very training" in second.stderr
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_a_grid_shows_every_job_and_survives_a_failed_one(stage, few, tmp_path):
    grid = ["-m", "model=mlp5", "model.n=2,3", "model.h=0,-3", "model.m=3", "recipe.epochs=1", f"data={few}"]
    (tmp_path / "search.csv").write_text("of an earlier grid, whole")
    ended = stage("train", *grid, f"+hydra.callbacks.grid.table={tmp_path}/search.csv")
    assert ended.returncode == 1
    assert (tmp_path / "search.csv").read_text() == "of an earlier grid, whole"
    why = "model.h=-3: hidden units can't be negative; h=0 leaves the linear part alone"
    assert ended.stderr.endswith(f"error: 2 of 4 jobs failed: {why}\n")
    assert ended.stdout.endswith(f"\n{tmp_path}/sweep/grid.csv\n{tmp_path}/sweep/grid.svg\n")
    table = pd.read_csv(tmp_path / "sweep" / "grid.csv")
    assert table["model.h"].tolist() == [0, -3, 0, -3]
    assert "model.n" in (tmp_path / "sweep" / "grid.svg").read_text()
    assert table["valid"].notna().tolist() == [True, False, True, False]
    assert table["failure"][1] == why
    assert all(f"{value:.2f}" in ended.stdout for value in table["valid"].dropna())

    client = MlflowClient(stage.environment["MLFLOW_TRACKING_URI"])
    runs = client.search_runs([client.get_experiment_by_name(FEW).experiment_id])
    parent = next(run for run in runs if run.data.tags["stage"] == "sweep")
    assert {file.path for file in client.list_artifacts(parent.info.run_id)} == {"grid.csv", "grid.svg"}
    children = {run.info.run_name: run for run in runs if run.data.tags.get("mlflow.parentRunId") == parent.info.run_id}
    assert children.keys() == {f"model.n={n}, model.h={h}" for n in (2, 3) for h in (0, -3)}
    assert {name: run.info.status for name, run in children.items()} == {
        name: "FAILED" if name.endswith("-3") else "FINISHED" for name in children
    }
    assert children["model.n=2, model.h=-3"].data.tags["failure"] == table["failure"][1]
    figures = [run.data.metrics["valid"] for run in children.values() if "valid" in run.data.metrics]
    assert sorted(figures) == pytest.approx(sorted(table["valid"].dropna()))
    heads, best, *_ = re.search(r"^ *job.*?(?=\n\n)", ended.stdout, re.MULTILINE | re.DOTALL)[0].splitlines()
    assert heads.split() == ["job", "model.n", "model.h", "valid", "valid_seen", "failure"]  # no constant, no test
    assert f"{table['valid'].min():.2f}" in best


def test_a_grid_without_its_corpus_ends_before_the_first_job(stage, tmp_path):
    ended = stage("train", "-m", "model.n=2,3", f"data={tmp_path}/none")
    assert ended.returncode == 2 and ended.stderr.startswith(f"error: no preprocessed corpus in {tmp_path}/none: ")
    assert ended.stderr.count("\n") == 1 and not (tmp_path / "sweep" / "0").exists()


@pytest.mark.parametrize("given", ["out={}/one", "timing={}/timing.json"])
def test_a_grid_whose_jobs_would_write_over_each_other_is_refused(stage, few, tmp_path, given):
    ended = stage("train", "-m", "model.n=2,3", f"data={few}", given.format(tmp_path))
    assert ended.returncode == 2 and "each job of a grid has a folder of its own; give hydra.sweep.dir=" in ended.stderr
    assert not (tmp_path / "one").exists()


def test_a_grid_in_parallel_gives_the_same_numbers(stage, few, tmp_path):
    grid = ["-m", "model.n=2,3", "model.h=3", "model.m=3", "recipe.epochs=1", f"data={few}"]
    kept = f"+hydra.callbacks.grid.table={tmp_path}/search.csv"  # as conf/search/*.yaml have it
    parallel = stage("train", *grid, kept, "hydra/launcher=joblib", "hydra.launcher.n_jobs=2")
    assert parallel.returncode == 0, parallel.stderr
    table = pd.read_csv(tmp_path / "sweep" / "grid.csv")
    assert pd.read_csv(tmp_path / "search.csv")["valid"].tolist() == pytest.approx(table["valid"].tolist(), abs=0.01)
    assert "model.n" in (tmp_path / "search.svg").read_text()
    alone = stage(
        "train", "model.n=3", "model.h=3", "model.m=3", "recipe.epochs=1", f"data={few}", f"out={tmp_path}/alone"
    )
    assert alone.returncode == 0, alone.stderr
    assert table["valid"][1] == pytest.approx(read_json(tmp_path / "alone" / "metrics.json")["valid"], rel=1e-12)


def test_the_jobs_of_a_grid_end_when_it_is_killed(stage, few, tmp_path):
    """Those side by side too."""
    long = [*TINY, "recipe.epochs=100000", "model.h=4,5", f"data={few}"]
    long += [f"checkpoints={tmp_path}/checkpoints", "checkpoint_seconds=0"]
    places = [f"hydra.sweep.dir={tmp_path}/sweep", "hydra/launcher=joblib", "hydra.launcher.n_jobs=2"]
    command = [sys.executable, "-m", "pipeline.train", "-m", *long, *places]
    grid = psutil.Popen(command, cwd=ROOT, env=stage.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: len(list(tmp_path.glob("checkpoints/*.pt"))) == 2)
        jobs = grid.children(recursive=True)
    finally:
        grid.kill()
        grid.wait()
    _, alive = psutil.wait_procs(jobs, timeout=30)
    assert len(jobs) >= 2 and not alive


def wait_until(there) -> None:
    """A minute at most."""
    for _ in range(600):
        if there():
            return
        time.sleep(0.1)
    raise AssertionError("not within a minute")


def test_a_disk_that_takes_no_more_is_one_line(stage, few, tmp_path):
    """And with room the same command ends well."""
    given = ["ngram=kn3", f"data={few}", f"out={tmp_path}/out"]
    small = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))}
    ended = stage("ngram", *given, "hydra/job_logging=disabled", **small)
    assert ended.returncode == 2 and ended.stderr.startswith("error: "), ended.stderr
    assert ended.stderr.count("\n") == 1 and "is there room on the disks of out" in ended.stderr
    assert stage("ngram", *given).returncode == 0


def test_a_mistyped_path_makes_no_folders(stage, few, tmp_path):
    """Far from the checkout, the folder of the call and the temporary one, only `out` itself is made."""
    environment = {"env": stage.environment | {"TMPDIR": str(tmp_path / "temporary")}}
    (tmp_path / "temporary").mkdir()
    wrong = tmp_path / "no" / "such"
    for key, missing in (("out", wrong.parent), ("timing", wrong.parent), ("checkpoints", wrong)):
        ended = stage("train", *TINY, f"data={few}", f"{key}={wrong}", **environment)
        said = f"error: {key}={wrong}: no folder {missing}; if the path is right, make it first: mkdir -p {missing}\n"
        assert (ended.returncode, ended.stderr) == (2, said)
    assert not wrong.parent.exists()


@pytest.mark.peers
def test_a_grid_through_submitit_gives_the_same_numbers(stage, few, tmp_path):
    """Its local executor; SLURM's, which needs a cluster, composes."""
    grid = ["-m", "model.n=2,3", "model.h=3", "model.m=3", "recipe.epochs=1", f"data={few}"]
    ended = stage("train", *grid, "hydra/launcher=submitit_local", "hydra.launcher.timeout_min=5")
    assert ended.returncode == 0, ended.stderr
    table = pd.read_csv(tmp_path / "sweep" / "grid.csv")
    assert table["model.n"].tolist() == [2, 3] and table["valid"].notna().all()
    shown = [sys.executable, "-m", "pipeline.train", "hydra/launcher=slurm", "--cfg", "hydra", "-p", "hydra.launcher"]
    composed = subprocess.run(shown, cwd=ROOT, capture_output=True, text=True)
    assert "SlurmLauncher" in composed.stdout and "mem_gb: 4" in composed.stdout, composed.stderr
    elsewhere = stage("train", *grid, "hydra/launcher=slurm")
    assert elsewhere.returncode == 2 and elsewhere.stderr.startswith("error: hydra/launcher=slurm: no srun here")
    assert elsewhere.stderr.count("\n") == 1


def test_a_stage_goes_on_where_tracking_is_out_of_reach(stage, few, tmp_path):
    nobody = stage.environment | {"MLFLOW_TRACKING_URI": "http://127.0.0.1:9"}
    ended = stage("ngram", f"data={few}", f"out={tmp_path}/out", env=nobody)
    assert ended.returncode == 0, ended.stderr
    assert "MLflow can't be reached" in ended.stdout + ended.stderr
    assert (tmp_path / "out" / "test.npy").is_file()


def test_a_warning_does_not_tell_the_password(stage, few, tmp_path):
    secret = stage.environment | {"MLFLOW_TRACKING_URI": "http://me:s3cret@127.0.0.1:9"}
    ended = stage("ngram", f"data={few}", f"out={tmp_path}/out", env=secret)
    said = ended.stdout + ended.stderr
    assert ended.returncode == 0 and "MLflow can't be reached" in said and "s3cret" not in said


def test_runs_that_begin_in_the_same_second_have_folders_of_their_own(stage, few, tmp_path):
    """Without hydra.run.dir; in a grid likewise."""
    command = [sys.executable, "-m", "pipeline.ngram", f"data={few}"]
    where = {"cwd": tmp_path, "env": stage.environment | {"PYTHONPATH": str(ROOT)}}
    started = [subprocess.Popen([*command, f"ngram={name}"], **where) for name in ("kn3", "kn4", "interpolated3")]
    assert [process.wait() for process in started] == [0, 0, 0]
    made = [read_json(file) for file in (tmp_path / "outputs").rglob("run.json")]
    assert {each["name"] for each in made} == {"kn3", "kn4", "interpolated3"}


def test_writers_that_begin_at_the_same_moment_share_one_group(stage, few, tmp_path):
    """Four processes meet a database that does not exist yet."""
    command = [sys.executable, "-m", "pipeline.ngram", f"data={few}", "hydra.output_subdir=null"]
    started = [
        subprocess.Popen(
            [*command, f"out={tmp_path}/{k}", f"hydra.run.dir={tmp_path}/{k}"],
            cwd=ROOT, env=stage.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        for k in range(4)
    ]  # fmt: skip
    output = "".join(process.communicate()[0] for process in started)
    assert "can't be reached" not in output
    client = MlflowClient(stage.environment["MLFLOW_TRACKING_URI"])
    runs = client.search_runs([client.get_experiment_by_name(FEW).experiment_id])
    parents = [run for run in runs if run.data.tags["stage"] == "pipeline"]
    children = [run for run in runs if run.data.tags["stage"] == "ngram"]
    assert (len(parents), len(children)) == (1, 4)
    assert {child.data.tags["mlflow.parentRunId"] for child in children} == {parents[0].info.run_id}
    assert all(child.info.status == "FINISHED" and child.data.metrics["cost/seconds"] > 0 for child in children)
    assert all({"commit", "dirty", "data"} <= set(child.data.tags) for child in children)


def test_a_mixture_refuses_arrays_of_another_corpus(few, tmp_path):
    for name in ("mlp9", "interpolated3"):
        (tmp_path / name / "0").mkdir(parents=True)
        for split in ("valid", "test"):
            np.save(tmp_path / name / "0" / f"{split}.npy", np.full(5, -1.0, dtype=np.float32))
        Record("train", name, 0, {}, "of another corpus").write(tmp_path / name / "0")
    with pytest.raises(InputError, match=r"mlp9/0 was made from another corpus"):
        mix.main(composed("mix", mix.Config, f"data={few}", f"predictions=[{tmp_path}]", f"out={tmp_path}/out"))


@pytest.mark.parametrize("weights", ["[0.5]", "[0.6,0.6]", "[-0.5,1.5]"])
def test_impossible_mixture_weights_are_named(weights):
    with pytest.raises(InputError, match="mix"):
        composed("mix", mix.Config, f"mix.weights={weights}")


def test_learned_weights_are_no_worse_than_equal_ones_on_validation(few, tmp_path):
    corpus = read_corpus(few)
    for number, name in enumerate(("mlp9", "interpolated3")):
        random = np.random.default_rng(number)
        made(tmp_path / name / "0", corpus, "train")
        for split in ("valid", "test"):
            tokens = len(corpus.ids(split))
            raw = tmp_path / name / "0" / "raw"
            raw.mkdir(exist_ok=True)
            np.save(raw / f"{split}.npy", -random.exponential(3 + number, tokens).astype(np.float32))
    found = {}
    for weights in ("[]", "[0.5,0.5]"):
        out = tmp_path / f"out{weights}"
        arguments = [f"data={few}", f"predictions=[{tmp_path}]", f"mix.weights={weights}", f"out='{out}'"]
        mix.main(composed("mix", mix.Config, *arguments))
        found[weights] = read_json(out / "metrics.json")["valid_raw"]
        assert sum(read_json(out / "weights.json").values()) == pytest.approx(1)
    assert found["[]"] < found["[0.5,0.5]"]
