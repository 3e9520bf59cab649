"""Kills: a stage is ended at a random moment, by SIGKILL, SIGTERM or SIGINT, and then repeated. Well is the result of
an uninterrupted run to the bit, no file left over, and no run in MLflow that is still open."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from .few import Few
from .trial import Trial, bits, differs

STAGES = ["train", "preprocess", "ngram", "mix", "cluster", "report"]
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
EVERY_STEP = "checkpoint_seconds=0"


def trials(few: Few) -> Iterator[Trial]:
    """Forty of the training, ten of each other stage."""
    for stage in STAGES:
        for number in range(40 if stage == "train" else 10):
            for sent in SIGNALS:
                name = f"{stage}, {sent.name} {number}"
                yield Trial(name, partial(_tried, few, stage, sent, name))


def _tried(few: Few, stage: str, sent: signal.Signals, name: str, folder: Path) -> str:
    environment = os.environ | {"MLFLOW_TRACKING_URI": f"sqlite:///{folder}/mlflow.db"}

    def command(out: Path) -> list[str]:
        more = [EVERY_STEP] if stage == "train" else []
        return [sys.executable, "-m", f"pipeline.{stage}", *few.words(stage, out), "hydra.output_subdir=null", *more]

    quiet = {"env": environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    start = time.monotonic()
    subprocess.run(command(folder / "whole"), **quiet, check=True)
    whole = time.monotonic() - start
    process = subprocess.Popen(command(folder / "killed"), **quiet)
    time.sleep(random.Random(name).uniform(0.3, 1) * whole)
    process.send_signal(sent)
    _, said = process.communicate()
    if sent != signal.SIGKILL and b"Traceback" in said:
        return f"a traceback: {said.decode().splitlines()[-1][:150]}"
    again = subprocess.run(command(folder / "killed"), **quiet)
    if again.returncode:
        return f"repeated: {again.stderr.decode().strip()[-200:]}"
    if said := differs(folder / "killed", folder / "whole"):
        return said
    left = [path for path in bits(folder / "killed") if "/." in f"/{path}" or path.endswith((".pt", ".run"))]
    if left:
        return f"left over: {left[:3]}"
    return "a run in MLflow is open" if _open_runs(environment["MLFLOW_TRACKING_URI"]) else ""


def _open_runs(uri: str) -> int:
    from mlflow import MlflowClient

    client = MlflowClient(uri)
    experiments = [found.experiment_id for found in client.search_experiments()]
    return len(client.search_runs(experiments, "attributes.status = 'RUNNING'"))
