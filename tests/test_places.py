"""What a stage will write is looked at before it works, and what a killed one left is removed."""

import os
import shutil
import signal
import subprocess
import sys
import time
import warnings

import pytest
from sqlalchemy.exc import OperationalError

from pipeline.config.base import ROOT
from pipeline.core.common.errors import InputError
from pipeline.data.files import write_json
from pipeline.running import stage, tracking


def test_what_a_killed_process_left_half_written_is_removed(tmp_path):
    """And nothing else: names that only look alike stay."""
    out, timing = tmp_path / "out", tmp_path / "timings" / "a.json"
    half = [out / ".metrics.json.abc_1234.json", timing.with_name(".a.json.12345678.json")]
    others = [out / name for name in (".hydra", ".metrics.json", ".config.settings", "a.json", ".a.yaml.20240101.bak")]
    others += [timing.with_name(".b.json.12345678.json"), tmp_path / ".out-mysaving" / "thesis.txt"]
    for file in (*half, *others, tmp_path / ".out-abc_1234" / "whole" / "ca01"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    with stage.claimed(out, timing):
        write_json(out / "run.json", {})
    assert not any(file.exists() for file in half) and not (tmp_path / ".out-abc_1234").exists()
    assert all(file.exists() for file in others) and (out / "run.json").is_file()


def test_a_folder_that_was_claimed_for_nothing_is_gone(tmp_path):
    with pytest.raises(InputError), stage.claimed(tmp_path / "out"):
        raise InputError("nothing to write")
    assert not (tmp_path / "out").exists()


def test_a_database_that_cannot_be_opened_is_said_at_once(tmp_path, monkeypatch):
    """MLflow would try ten times, and wait for 102 seconds in between."""

    def wait(seconds):
        raise AssertionError(f"waits for {seconds} s")

    monkeypatch.setattr("mlflow.store.db.utils.time.sleep", wait)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}")  # a folder
    with pytest.raises(OperationalError, match="unable to open database file"):
        tracking.open_store()


def test_a_process_killed_while_it_makes_the_database_leaves_none(tmp_path, monkeypatch):
    """Of half its tables MLflow would say at every later run that they are there already."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    code = "from pipeline.running import tracking; tracking.open_store()"
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    new = tmp_path / "mlflow.db.new"
    while process.poll() is None and not (new.is_file() and new.stat().st_size):
        time.sleep(0.001)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert not (tmp_path / "mlflow.db").exists()
    assert tracking.open_store().search_experiments()
    assert [path.name for path in tmp_path.iterdir()] == ["mlflow.db"]


@pytest.mark.parametrize("ends", ["FINISHED", None])
def test_a_run_that_ends_while_another_looks_for_killed_ones_keeps_its_status(tmp_path, monkeypatch, ends):
    """Between the search and the look at its process, which is then gone."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    client = tracking.open_store()
    run = tracking.create(client, tracking.open_experiment(client, tmp_path), "quick", {})
    monkeypatch.setattr(tracking, "_has_ended", lambda process: not ends or not client.set_terminated(run, ends))
    tracking.open_experiment(client, tmp_path)
    assert client.get_run(run).info.status == (ends or "KILLED")


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("http://me:s3%21cret@host/x", "no answer of http://me:***@host/x, s3!cret"),
        ("postgresql://me:s3!cret@host/x", "postgresql://me:s3!cret@host/x"),
        ("postgresql://host/x?user=me&password=s3!cret", "postgresql://host/x?user=me&password=s3!cret"),
        ("http://s3!cret@host", "http://s3!cret@host"),
        ("http://me:a@s3!cret@host", "me:a@s3!cret"),
        ("http://me:s3!cret@[bad", "s3!cret"),
    ],
)
def test_no_message_shows_the_password(monkeypatch, uri, said):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    line = tracking.line(OSError(said))
    assert "cret" not in line and "***" in line


def test_what_a_library_of_mlflows_warns_of_is_no_error():
    """Also with PYTHONWARNINGS=error."""
    run = tracking.Run()
    with warnings.catch_warnings(action="error"):
        run.call(lambda: warnings.warn("will be dropped", FutureWarning, stacklevel=1))
    assert run.tracked


def test_an_archive_has_no_commit_wherever_it_is_unpacked(tmp_path, monkeypatch):
    """Not that of a repository around it; and without git a run is tracked all the same."""
    inner = tmp_path / "archive"
    inner.mkdir()
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["git", "-C", tmp_path, *identity, "commit", "-qm", "x", "--allow-empty"], check=True)
    for place, path, known in (
        (tmp_path, os.environ["PATH"], True),
        (inner, os.environ["PATH"], False),
        (inner, "", False),
    ):
        monkeypatch.setattr(tracking, "ROOT", place)
        monkeypatch.setenv("PATH", path)
        tracking.code_state.cache_clear()
        assert (tracking.code_state()["commit"] != "no-commit") is known
    tracking.code_state.cache_clear()


def test_an_environment_of_another_folder_is_named_and_stays(tmp_path):
    """A copied checkout has that of the first one, whose programs run the first one's code."""
    for name in ("Makefile", "requirements.txt", "pyproject.toml"):
        shutil.copy2(ROOT / name, tmp_path)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "installed").write_text("/another/place\n")
    for target, code in (("install", 2), ("help", 0)):
        ended = subprocess.run(["make", target], cwd=tmp_path, capture_output=True, text=True)
        assert ended.returncode == code, ended.stderr
        if code:
            assert "made for /another/place" in ended.stdout + ended.stderr and "make clean install" in ended.stdout
    assert (tmp_path / ".venv" / "installed").is_file()
