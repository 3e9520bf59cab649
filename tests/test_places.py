"""What a stage will write is looked at before it works, and what a killed one left is removed."""

import os
import signal
import subprocess
import sys
import time

import pytest
from omegaconf import OmegaConf
from sqlalchemy.exc import OperationalError

from pipeline.config.base import ROOT
from pipeline.data.errors import InputError
from pipeline.data.files import write_json
from pipeline.running import app, tracking


def checked(key: str, place: object) -> None:
    app._check_place(OmegaConf.create({key: str(place)}), key)


def test_a_place_below_what_is_no_folder_is_refused(tmp_path):
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    for key in ("out", "checkpoints", "timing", "export", "csv"):
        for name in ("file", "pipe"):
            for place in (tmp_path / name / "x", tmp_path / name / "x" / "y"):
                with pytest.raises(InputError, match=f"^{key}={place}: {tmp_path / name} is no folder, so nothing can"):
                    checked(key, place)
        checked(key, tmp_path / "new" / "x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "pipe"]  # to look leaves nothing


def test_a_folder_that_takes_no_file_is_refused(tmp_path, monkeypatch):
    def full(dir):
        raise OSError(28, "No space left on device", str(dir))

    monkeypatch.setattr(app.tempfile, "TemporaryFile", full)
    for key in ("out", "timing"):
        with pytest.raises(
            InputError, match=f"^{key}={tmp_path}/x: {tmp_path} takes no file: No space left on device$"
        ):
            checked(key, tmp_path / "x")
    checked("data", tmp_path)  # is read


def test_a_name_does_not_lead_out_of_the_result():
    for name in ("../x", "/x", "a/../../x"):
        with pytest.raises(InputError, match=f"^name={name}: .*give a name and no path$"):
            app._check_name("report", name)
    with pytest.raises(InputError, match="name is empty"):
        app._check_name("report", " ")
    app._check_name("mix", "")  # its components' names stand for it
    app._check_name("out_of_vocabulary", "mlp9/0")


def test_a_device_that_holds_no_numbers_is_refused():
    with pytest.raises(InputError, match="device=meta: it can't be used here"):
        app._check_device("meta")
    app._check_device("cpu")


def test_what_a_killed_process_left_half_written_is_removed(tmp_path):
    """And nothing else: names that only look alike stay."""
    out, timing = tmp_path / "out", tmp_path / "timings" / "a.json"
    half = [out / ".metrics.json.abc_1234.json", tmp_path / "timings" / ".a.json.12345678.json"]
    others = [
        *(out / name for name in (".hydra", ".metrics.json", ".config.settings", ".a.json.abc_1234.csv", "a.json")),
        tmp_path / "timings" / ".b.json.12345678.json",
        tmp_path / ".out-mysaving" / "thesis.txt",
    ]
    for file in (*half, *others, tmp_path / ".out-abc_1234" / "whole" / "ca01"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    with app.claimed(out, timing):
        write_json(out / "run.json", {})
    assert not any(file.exists() for file in half) and not (tmp_path / ".out-abc_1234").exists()
    assert all(file.exists() for file in others) and (out / "run.json").is_file()


def test_a_folder_that_was_claimed_for_nothing_is_gone(tmp_path):
    with pytest.raises(InputError), app.claimed(tmp_path / "out"):
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
