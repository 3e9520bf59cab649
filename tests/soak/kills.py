"""Kills: a stage is ended at a random moment, by SIGKILL, SIGTERM or SIGINT, and then repeated. Well is the result of
an uninterrupted run to the bit, no file left over, and no run in MLflow that is still open."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from mlflow import MlflowClient

from pipeline.config.base import ROOT

from .few import Few
from .trial import Trial, differs

STAGES = ["train", "preprocess", "ngram", "mix", "cluster", "report", "download"]
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
PIPELINE = """
stages:
  preprocess: {{cmd: python -m pipeline.preprocess {preprocess}, outs: [data]}}
  ngram: {{cmd: python -m pipeline.ngram {ngram}, deps: [data], outs: [predictions/kn3/0]}}
"""
Command = Callable[[Path], list[str]]  # by the folder for all that it writes


def trials(few: Few) -> Iterator[Trial]:
    """Twenty of the training, three of `dvc repro`, four of each other; each by each signal."""
    for stage in [*STAGES, "dvc repro"]:
        for number in range({"train": 20, "dvc repro": 3}.get(stage, 4)):
            for sent in SIGNALS:
                name = f"{stage}, {sent.name} {number}"
                tried = _reproduced if stage == "dvc repro" else partial(_tried, stage=stage)
                yield Trial(name, partial(tried, few, sent, name))


def _killed(command: Command, begun: Callable[[Path], bool], sent: signal.Signals, name: str, folder: Path) -> str:
    """Runs a command whole; another is killed at a random moment and repeated. What went badly, but for the results.

    begun: whether one has come so far that a signal finds it at work, and not at its imports.
    """
    whole = _begin(command(folder / "whole"), folder)
    working = _wait(whole, partial(begun, folder / "whole"))
    _, said = whole.communicate()
    if whole.returncode:
        return f"by itself: {said[-200:]}"
    usual = time.monotonic() - working
    process = _begin(command(folder / "killed"), folder)
    _wait(process, partial(begun, folder / "killed"))
    time.sleep(random.Random(name).uniform(0, 1) * usual)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, sent)
    _, said = process.communicate()
    if sent != signal.SIGKILL and "Traceback" in said:
        return f"a traceback: {said.splitlines()[-1][:150]}"
    again = _begin(command(folder / "killed"), folder)
    _, said = again.communicate()
    return f"repeated: {said[-200:]}" if again.returncode else ""


def _begin(command: list[str], folder: Path) -> subprocess.Popen:
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=_environment(folder), start_new_session=True, **pipes)


def _wait(process: subprocess.Popen, begun: Callable[[], bool]) -> float:
    """The time when a process has begun its work, or has ended."""
    while process.poll() is None and not begun():
        time.sleep(0.01)
    return time.monotonic()


def _environment(folder: Path) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    own = {"MLFLOW_TRACKING_URI": f"sqlite:///{folder}/mlflow.db", "PYTHONPATH": str(ROOT), "PATH": path}
    return os.environ | own


def _tried(few: Few, sent: signal.Signals, name: str, folder: Path, stage: str) -> str:
    def command(out: Path) -> list[str]:
        more = ["checkpoint_seconds=0"] if stage == "train" else []
        return [sys.executable, "-m", f"pipeline.{stage}", *few.words(stage, out), "hydra.output_subdir=null", *more]

    said = _killed(command, Path.is_dir, sent, name, folder) or differs(folder / "killed", folder / "whole")
    if said:
        return said
    files = [path.relative_to(folder).as_posix() for path in folder.rglob("*")]
    left = [path for path in files if "/." in f"/{path}" or path.endswith((".pt", ".run"))]
    if left:
        return f"left over: {left[:3]}"
    return "a run in MLflow is open" if (folder / "mlflow.db").is_file() and _open_runs(folder) else ""


def _reproduced(few: Few, sent: signal.Signals, name: str, folder: Path) -> str:
    for place in (folder / "whole", folder / "killed"):
        place.mkdir()
        outs = {"preprocess": place / "data", "ngram": place / "predictions" / "kn3" / "0"}
        words = {stage: [*few.words(stage, out), "hydra.output_subdir=null"] for stage, out in outs.items()}
        words["ngram"] = [f"data={place}/data" if word.startswith("data=") else word for word in words["ngram"]]
        (place / "dvc.yaml").write_text(PIPELINE.format(**{stage: " ".join(each) for stage, each in words.items()}))
        subprocess.run(["dvc", "init", "--no-scm", "-q"], cwd=place, env=_environment(folder), check=True)
    begun = lambda place: (place / "data").is_dir()  # noqa: E731
    said = _killed(lambda place: ["dvc", "--cd", str(place), "repro", "-q"], begun, sent, name, folder)
    parts = [(folder / "killed" / part, folder / "whole" / part) for part in ("data", "predictions")]
    return said or "".join(differs(*part) for part in parts)


def _open_runs(folder: Path) -> int:
    client = MlflowClient(f"sqlite:///{folder}/mlflow.db")
    found = [experiment.experiment_id for experiment in client.search_experiments()]
    return len(client.search_runs(found, "attributes.status = 'RUNNING'"))
