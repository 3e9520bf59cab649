"""Stages that DVC runs and that end soon load no MLflow, and their runs are logged later; a target tells how long it
still takes.

test_pipeline.py has both through `make repro`, which logs the runs as it goes."""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from pipeline.commands.repro import State, counted, expected, file_of_times, made, needed
from pipeline.config.base import ROOT
from pipeline.data import record
from pipeline.data.files import UNTRACKED, read_json
from pipeline.running import tracking
from pipeline.running.backlog import Backlog

LOADED = """
import runpy, sys
sys.argv = sys.argv[1:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
print(*sorted({"mlflow", "pandas", "torch"} & sys.modules.keys()))
"""


@pytest.fixture
def waiting(few, stage, tmp_path, monkeypatch) -> Path:
    """The folder of files of times of an n-gram model and a mixture, by stages as DVC runs them."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", stage.environment["MLFLOW_TRACKING_URI"])
    for name, words in {
        "kn3": ["pipeline.ngram", "ngram=kn3", "ngram.order=2"],
        "mixed": ["pipeline.mix", "name=mixed", "mix.components=[kn3]", "mix.weights=[1]", "mix.by_frequency=false"],
    }.items():
        places = [f"data={few}", f"out={tmp_path}/{name}/0", f"timing={tmp_path}/timings/t/{name}.json"]
        places += [f"predictions=[{tmp_path}]"] * (name == "mixed")
        command = [sys.executable, "-c", LOADED, *words, *places]
        environment = stage.environment | {"DVC_STAGE": name}
        ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout.endswith("\n\n"), f"{name} loads {ended.stdout}"  # none of these packages
    assert not (tmp_path / "mlflow.db").exists()
    return tmp_path / "timings" / "t"


def test_they_wait_and_are_logged_once_with_the_times_of_the_stage(waiting, few):
    for _ in range(2):
        Backlog([waiting]).log()
    client = tracking.open_store()
    runs = client.search_runs([tracking.open_experiment(client, few)])
    parents = {run.info.run_id for run in runs if run.data.tags["stage"] == "pipeline"}
    logged = {run.info.run_name: run for run in runs if run.data.tags["stage"] != "pipeline"}
    assert logged.keys() == {"kn3-0", "mixed-0"} and len(runs) == 3
    for name, run in logged.items():
        timing = read_json(waiting / f"{name[:-2]}.json")
        assert UNTRACKED not in timing
        assert run.info.status == "FINISHED" and run.data.tags[tracking.PARENT] in parents
        assert run.data.tags.items() >= tracking.code_state().items()
        assert run.info.end_time - run.info.start_time == pytest.approx(1000 * timing["seconds"], abs=2)
        assert run.data.metrics["cost/seconds"] == timing["seconds"] and run.data.metrics["valid_raw"] > 1


def test_a_store_out_of_reach_leaves_them_waiting(waiting, monkeypatch, caplog):
    with monkeypatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
        Backlog([waiting]).log()
    assert "the next report, `make ui` or `make publish` logs them" in caplog.text
    assert all(UNTRACKED in read_json(file) for file in waiting.glob("*.json"))


@pytest.mark.parametrize("fails", [False, True])
def test_a_run_begins_when_it_is_due_or_its_stage_fails(waiting, few, fails):
    """So a long training shows its curve while it runs, and one that fails says why."""
    client = tracking.open_store()
    experiment = tracking.open_experiment(client, few)
    mixed = record.read(waiting.parents[1] / "mixed" / "0")
    start = time.time()
    with suppress(ZeroDivisionError), tracking.running(mixed, few, after=0.5) as run:
        run.begin_when_due()
        assert run.waits and not client.search_runs([experiment])
        time.sleep(0 if fails else 0.6)
        assert 1 // (not fails)
        run.begin_when_due()
        assert not run.waits and client.get_run(run.id).info.status == "RUNNING"
    info, tags = client.get_run(run.id).info, client.get_run(run.id).data.tags
    assert info.status == ("FAILED" if fails else "FINISHED") and ("failure" in tags) is fails
    assert info.start_time / 1000 == pytest.approx(start, abs=0.3)  # that of the stage


def test_what_is_restored_or_removed_meanwhile_is_no_error(waiting, few, tmp_path):
    (tmp_path / "kn3" / "0" / "run.json").unlink()
    Backlog([waiting]).log()
    client = tracking.open_store()
    runs = client.search_runs([tracking.open_experiment(client, few)], "tags.stage != 'pipeline'")
    assert [run.info.run_name for run in runs] == ["mixed-0"]


NEEDS = {"clusters": set(), "train-0": set(), "train-1": set(), "mix-0": {"train-0"}, "mix-1": {"train-1"}}
NEEDS |= {"report": {"mix-0", "mix-1", "clusters"}}
WORK = """
import sys, time
for name in sys.argv[1:]:
    print("begin", name, flush=True)
    time.sleep(0.3 if name.startswith("train") else 0)
    if name == "FAILS":
        sys.exit(1)
    print("end", name, flush=True)
"""


@pytest.mark.parametrize("fails", ["", "train-0"])
def test_stages_begin_when_what_they_need_is_made_and_none_after_one_that_failed(fails):
    """Two at a time, the heaviest first; short ones that are ready share a process."""
    seconds = {name: 40.0 if name.startswith("train") else 1.0 for name in NEEDS}
    command, state = (sys.executable, "-c", WORK.replace("FAILS", fails or "none")), State()
    lines = [tuple(line.split()) for line in made(NEEDS, seconds=seconds, jobs=2, command=command, state=state)]
    begun = [name for what, name in lines if what == "begin"]
    assert set(begun[:2]) == {"train-0", "train-1"}
    for name in begun:
        before = lines[: lines.index(("begin", name))]
        assert all(("end", other) in before for other in NEEDS[name])
        assert sum(what == "begin" for what, _ in before) - sum(what == "end" for what, _ in before) < 2
    if fails:
        assert state.failed == [fails] and not {"mix-0", "report"} & set(begun)
    else:
        assert not state.failed and sorted(begun) == sorted(NEEDS) == sorted(state.done)


def test_a_countdown_counts_each_stage_once_and_corrects_its_estimate(monkeypatch):
    """Two at a time; the machine is half as fast as that of the earlier run."""
    times = iter([0, 0, 0, 400, 400, 400, 800, 1000])
    monkeypatch.setattr("time.monotonic", lambda: next(times))
    seconds = dict.fromkeys(["train@a-0", "train@a-1", "train@b-0", "train@b-1", "report"], 200.0) | {"mix@a": 0.0}
    printed = """
        Running stage 'train@a-0':
        > python -m pipeline.train
        Running stage 'train@a-1':
        Running stage 'train@b-0':
        Stage 'train@b-1' didn't change, skipping
        Stage 'mix@a' is cached - skipping run, checking out outputs
        Stage 'train@b-1' didn't change, skipping
        Running stage 'of another file':
        Running stage 'report':
    """
    lines = [f"{line.strip()}\n" for line in printed.strip().split("\n")]
    state = State()

    def printed_lines() -> Iterator[str]:
        begun = []
        for line in lines:
            begun += seconds.keys() & re.findall("^Running stage '(.*)'", line)
            state.done.update(begun[:-2])
            yield line

    shown = list(counted(printed_lines(), seconds=seconds, jobs=2, state=state))
    assert [line for line in shown if line[0] != "["] == lines
    assert [line.strip("[]\n") for line in shown if line[0] == "["] == [
        "1 of 6 stages; about 8 min left, and 1 whose time is not known",
        "2 of 6 stages; about 7 min left, and 1 whose time is not known",
        "3 of 6 stages; about 10 min left, and 1 whose time is not known",
        "4 of 6 stages; about 7 min left, and 1 whose time is not known",
        "5 of 6 stages; about 7 min left",
        "6 of 6 stages; about 4 min left",
        "4 stages ran, 2 were up to date; 17 min",
    ]


@pytest.mark.parametrize("file", ["dvc.yaml", "experiments/published/dvc.yaml"])
def test_the_times_of_every_stage_of_a_table_are_known(file):
    """By reports/costs.csv, from any earlier run: of trainings, mixtures and reports."""
    stages = needed([file], r"train\d*|mix\d*|report")
    seconds = expected({name: file_of_times(stage.cmd) for name, (stage, _) in stages.items()})
    known = [second for name, second in seconds.items() if "mix_ngrams" not in name]  # whose times were never gathered
    assert len(known) > 30 and all(known)
