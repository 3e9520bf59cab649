"""Kills: a stage is ended at a random moment, by SIGKILL, SIGTERM or SIGINT, and then repeated. Well is the result of
an uninterrupted run to the bit, no file left over, and no run in MLflow that is still open."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pipeline.config.base import ROOT
from pipeline.running.tracking import OUTPUT

from .few import Few
from .trial import Trial, differs

STAGES = ["train", "preprocess", "ngram", "mix", "cluster", "report", "download"]
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
EVERY_STEP = "checkpoint_seconds=0"
PIPELINE = """
stages:
  preprocess: {{cmd: python -m pipeline.preprocess {preprocess}, outs: [data]}}
  ngram: {{cmd: python -m pipeline.ngram {ngram}, deps: [data], outs: [predictions/kn3/0]}}
"""


def trials(few: Few) -> Iterator[Trial]:
    """Forty of the training, ten of each other stage and of publish, three of `dvc repro`; each by each signal."""
    for stage in [*STAGES, "publish", "dvc repro"]:
        for number in range({"train": 40, "dvc repro": 3}.get(stage, 10)):
            for sent in SIGNALS:
                name = f"{stage}, {sent.name} {number}"
                tried = {"publish": _published, "dvc repro": _reproduced}.get(stage, partial(_tried, stage=stage))
                yield Trial(name, partial(tried, few, sent, name))


@dataclass
class Killed:
    """A command that is run whole, then killed at a random moment, then repeated."""

    command: Callable[[Path], list[str]]  # by the folder for all that it writes
    environment: dict[str, str]
    begun: Callable[[Path], bool]  # whether it has come so far that a signal finds it at work, and not at its imports

    def tried(self, sent: signal.Signals, name: str, folder: Path) -> str:
        """What went badly, but for the results."""
        settings = {"env": self.environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        start = time.monotonic()
        whole = subprocess.Popen(self.command(folder / "whole"), **settings)
        working = _wait(whole, partial(self.begun, folder / "whole"))
        _, said = whole.communicate()
        if whole.returncode:
            return f"by itself: {said.decode().strip()[-200:]}"
        usual = time.monotonic() - start - working
        process = subprocess.Popen(self.command(folder / "killed"), **settings, start_new_session=True)
        _wait(process, partial(self.begun, folder / "killed"))
        time.sleep(random.Random(name).uniform(0, 1) * usual)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, sent)
        _, said = process.communicate()
        if sent != signal.SIGKILL and b"Traceback" in said:
            return f"a traceback: {said.decode().splitlines()[-1][:150]}"
        again = subprocess.run(self.command(folder / "killed"), **settings)
        return f"repeated: {again.stderr.decode().strip()[-200:]}" if again.returncode else ""


def _wait(process: subprocess.Popen, begun: Callable[[], bool]) -> float:
    """Seconds until a process has begun its work, or has ended."""
    start = time.monotonic()
    while process.poll() is None and not begun():
        time.sleep(0.01)
    return time.monotonic() - start


def _environment(folder: Path, **more: str) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    own = {"MLFLOW_TRACKING_URI": f"sqlite:///{folder}/mlflow.db", "PYTHONPATH": str(ROOT), "PATH": path}
    return os.environ | own | more


def _tried(few: Few, sent: signal.Signals, name: str, folder: Path, stage: str) -> str:
    def command(out: Path) -> list[str]:
        more = [EVERY_STEP] if stage == "train" else []
        return [sys.executable, "-m", f"pipeline.{stage}", *few.words(stage, out), "hydra.output_subdir=null", *more]

    killed = Killed(command, _environment(folder), Path.is_dir)
    said = killed.tried(sent, name, folder) or differs(folder / "killed", folder / "whole")
    if said:
        return said
    files = [path.relative_to(folder).as_posix() for path in folder.rglob("*")]
    ours = (path for path in files if not path.startswith("mlartifacts/"))  # where MLflow keeps what it half uploaded
    left = [path for path in ours if "/." in f"/{path}" or path.endswith(".pt")]
    if left:
        return f"left over: {left[:3]}"
    return "a run in MLflow is open" if (folder / "mlflow.db").is_file() and _open_runs(folder) else ""


def _published(few: Few, sent: signal.Signals, name: str, folder: Path) -> str:
    """The models are left out: they take long."""
    for part in ("whole", "killed"):
        checkout(few, folder / part)

    def command(root: Path) -> list[str]:
        store = f"MLFLOW_TRACKING_URI=sqlite:///{root}/mlflow.db"
        return ["env", store, sys.executable, "-m", "pipeline.commands", "publish", "--root", str(root), "--models"]

    killed = Killed(command, _environment(folder), lambda root: any(root.glob("mlflow.db*")))
    return killed.tried(sent, name, folder) or published(folder / "killed")


def checkout(few: Few, root: Path) -> None:
    """A folder with the tiny results where publish looks for them."""
    for source, target in {few.data: "data/brown", few.predictions: "predictions/table1"}.items():
        shutil.copytree(source, root / target)
    (root / "conf" / "table").mkdir(parents=True)
    (root / "conf" / "table" / "table1.yaml").write_text("same_corpus: true\nrows: {mlp9: {row: MLP9, valid: 280}}\n")


def published(folder: Path) -> str:
    """Empty where the store has each result once, and none open."""
    if _open_runs(folder):
        return "a run in MLflow is open"
    runs = [run.data.tags[OUTPUT] for run in _runs(folder) if OUTPUT in run.data.tags]
    return "a result is twice in MLflow" if len(set(runs)) < len(runs) else "nothing in MLflow" * (not runs)


def _reproduced(few: Few, sent: signal.Signals, name: str, folder: Path) -> str:
    for part in ("whole", "killed"):
        place = folder / part
        place.mkdir()
        places = {"preprocess": place / "data", "ngram": place / "predictions" / "kn3" / "0"}
        words = {stage: [*few.words(stage, out), "hydra.output_subdir=null"] for stage, out in places.items()}
        words["ngram"] = [f"data={place}/data" if word.startswith("data=") else word for word in words["ngram"]]
        (place / "dvc.yaml").write_text(PIPELINE.format(**{stage: " ".join(each) for stage, each in words.items()}))
        subprocess.run(["dvc", "init", "--no-scm", "-q"], cwd=place, env=_environment(folder), check=True)

    def command(place: Path) -> list[str]:
        return ["dvc", "--cd", str(place), "repro", "-q"]

    killed = Killed(command, _environment(folder, DVC_NO_ANALYTICS="true"), lambda place: (place / "data").is_dir())
    said = killed.tried(sent, name, folder)
    return said or "".join(
        differs(folder / "killed" / part, folder / "whole" / part) for part in ("data", "predictions")
    )


def _open_runs(folder: Path) -> int:
    return sum(run.info.status == "RUNNING" for run in _runs(folder))


def _runs(folder: Path) -> list:
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{folder}/mlflow.db")
    return client.search_runs([found.experiment_id for found in client.search_experiments()])
