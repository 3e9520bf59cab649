"""A grid through hydra/launcher=slurm, on a real SLURM."""

import os
import subprocess
import sys
import time

import pandas as pd
import pytest
import slurm
from mlflow import MlflowClient
from test_stages import TINY

from pipeline.config.base import ROOT

pytestmark = pytest.mark.thorough
EIGHT = ["model.n=2,3,4,5,6,7,8,-3", *TINY, "recipe.epochs=5", "recipe.patience=5"]


@pytest.mark.skipif(not slurm.IS_HERE, reason="apt-get install slurm-wlm")
def test_a_grid_of_jobs_of_which_one_is_cancelled_and_one_fails(few, tmp_path):
    """The cancelled one goes on from its checkpoint when the grid is repeated, whose table is that of one process."""
    store = {"MLFLOW_TRACKING_URI": f"sqlite:///{tmp_path}/mlflow.db", "OMP_NUM_THREADS": "1"}
    usual = {"cwd": ROOT, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}

    def grid(launcher: str, *words: str) -> list[str]:
        places = [f"hydra.sweep.dir={tmp_path}/{launcher}", f"checkpoints={tmp_path}/checkpoints", f"data={few}"]
        places += ["checkpoint_seconds=0"]
        return [sys.executable, "-m", "pipeline.train", "-m", *EIGHT, *places, f"hydra/launcher={launcher}", *words]

    with slurm.cluster(tmp_path) as found:
        environment = os.environ | store | found
        command = grid("slurm", "hydra.launcher.mem_gb=1")
        first = subprocess.Popen(command, env=environment, **usual)
        logs, training = tmp_path / "slurm" / ".submitit", None
        while not training and first.poll() is None:
            time.sleep(0.02)
            training = next((log for log in logs.glob("*/*_log.out") if "epoch 1:" in log.read_text()), None)
        subprocess.run(["scancel", training.parent.name], env=environment, check=True)
        said, _ = first.communicate()
        table = pd.read_csv(tmp_path / "slurm" / "grid.csv")
        assert first.returncode == 1 and "2 of 8 jobs failed" in said, said
        (cancelled,) = table.index[table["failure"].fillna("").str.startswith("stopped after")]
        assert "repeat the command to resume" in table["failure"][cancelled]
        assert table["failure"][7] == "model.n=-3: should be greater than or equal to 2"
        again = subprocess.run(command, env=environment, **usual)
        assert "1 of 8 jobs failed" in again.stdout, again.stdout
        assert sum("resuming after" in log.read_text() for log in logs.glob("*/*_log.out")) == 1
    local = subprocess.run(grid("basic"), env=os.environ | store, **usual)
    tables = [pd.read_csv(tmp_path / launcher / "grid.csv") for launcher in ("slurm", "basic")]
    pd.testing.assert_frame_equal(*tables, check_exact=True)
    assert local.returncode == 1
    client = MlflowClient(store["MLFLOW_TRACKING_URI"])
    runs = client.search_runs([each.experiment_id for each in client.search_experiments()])
    parents = {run.info.run_id for run in runs if run.data.tags["stage"] == "sweep"}
    jobs = [run for run in runs if run.data.tags["stage"] == "train"]
    assert len(parents) == 3 and {run.data.tags["mlflow.parentRunId"] for run in jobs} == parents
