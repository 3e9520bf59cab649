"""A multirun of trainings, a grid: one parent run in MLflow for all jobs, and a table of the results at the end.

Hydra loads this file for each single training too. So functions import the figures, and with them matplotlib.
"""

import hashlib
import os
import shutil
import signal
import sys
import time
from functools import cache
from pathlib import Path
from threading import Thread
from typing import Any

import pandas as pd
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf

from pipeline.config import check, groups
from pipeline.config.check import keys_of
from pipeline.core.common.errors import InputError
from pipeline.data.corpus import read_corpus
from pipeline.data.predictions import read_metrics
from pipeline.running import tracking
from pipeline.running.app import FAILURE, ending_in_lines

# The columns to choose by, so none of test.
SHOWN = ["valid_corrected", "valid_corrected_seen", "valid_raw", "train_raw", "best_epoch", "train_running"]
JOBS = "*/.hydra/overrides.yaml"  # in the folder of a multirun: the file that Hydra writes when a job starts
SAVING = 10  # seconds in which a job can save its state


class Grid(Callback):
    """Hydra's callback of conf/train.yaml. Hydra does not call it in a single run.

    table: a second place for grid.csv and its picture, relative to the current folder; "" for none. A grid with failed
    jobs is not written there, since it would replace a complete one.
    """

    def __init__(self, table: str = ""):
        self.table = table
        self.run = tracking.Run()
        self.launcher = os.getpid()  # the process of the multirun

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Opens the parent run. (If this process ends before on_multirun_end, the next stage ends that run.) Ends the
        process if no job could work."""
        with ending_in_lines():  # Hydra would print only a warning
            overrides = OverridesParser.create().parse_overrides(list(config.hydra.overrides.task))
            self.varied = [override.key_or_group for override in overrides if override.is_sweep_override()]
            self.varied += config.hydra.sweeper.get("params") or {}  # the keys of a search
            self._check(config, [override.key_or_group for override in overrides])
            for job in Path(config.hydra.sweep.dir).glob(JOBS):
                job.unlink()  # of an earlier multirun in this folder, which may have had more jobs
        self.run.id = self.run.call(_begin, config)

    def _check(self, config: DictConfig, overridden: list[str]) -> None:
        """Raises InputError if no job could work. overridden: the keys on the command line."""
        if config.hydra.launcher._target_.endswith(".SlurmLauncher") and not shutil.which("srun"):
            raise InputError("hydra/launcher=slurm: no srun here, so no SLURM; for this machine's cores: joblib")
        known = {*dict(check.keys(keys_of("train"))), *groups.names()}
        for key in overridden:
            if key in ("out", "timing"):
                raise InputError(f"{key}: each job of a grid has a folder of its own; give hydra.sweep.dir=FOLDER")
            if key not in known and not key.startswith("hydra"):
                raise InputError(check.unknown("train", key))
        if "data" not in self.varied:
            read_corpus(config.data)

    def on_job_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Puts the parent run into the environment of a job. A job in another process, for example of joblib's, ends
        when the process of the multirun has ended."""
        if self.run.id:
            os.environ |= {tracking.SWEEP: self.run.id, tracking.JOB: self.job_name(config.hydra.overrides.task)}
        if self.launcher == os.getppid():
            _end_with_parent()

    def job_name(self, overrides: list[str]) -> str:
        """The name of a job: the overrides in which it differs from the others."""
        overrides = [override.lstrip("+") for override in overrides]
        return ", ".join([text for text in overrides if text.partition("=")[0] in self.varied] or overrides)

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        """Writes grid.csv and its picture into the folder of the multirun, and prints the table, the best job first.
        Exit code 1 if a job failed."""
        from pipeline.reporting import figures, style

        folder = Path(config.hydra.sweep.dir)
        path = folder / "grid.csv"
        picture = folder / "grid.svg"
        output = ""
        table = collect(folder)
        table.to_csv(path, index=False)
        picture.unlink(missing_ok=True)  # of an earlier multirun in this folder
        failed = {
            self.job_name(_overrides(folder / job.job)): job.failure
            for job in table[table["failure"] != ""].itertuples()
        }
        if table["valid_corrected"].notna().any():
            if drawing := figures.search(table):
                picture.write_text(style.alone(drawing), encoding="utf-8")
            if self.table and not failed:
                table.drop(columns="failure").to_csv(self.table, index=False, float_format="%.2f")
                if drawing:
                    shutil.copyfile(picture, Path(self.table).with_suffix(".svg"))
                output = digest(Path(self.table))
        print(f"\n{summary(table).to_string(index=False, float_format='%.2f', na_rep='')}\n")
        print(*filter(Path.is_file, (path, picture)), sep="\n")
        self.run.call(lambda: log(self.run.id, file=path, table=table, output=output))
        self.run.call(lambda: _end(self.run.id, Path(config.data), failed))
        if failed:
            reasons = list(dict.fromkeys(failed.values()))
            reason = reasons[0] if len(reasons) == 1 else f"{path} says why"
            sys.exit(f"error: {len(failed)} of {len(table)} jobs failed: {reason}")


def log(run: str, file: Path, table: pd.DataFrame, output: str) -> None:
    """Logs the table of a grid, its file, and the picture beside the file, in a run. output: see digest; "" for
    none."""
    mlflow = tracking.mlflow()
    perplexities = table["valid_corrected"].astype(float)
    best = {"best_valid_corrected": perplexities.min()} if perplexities.notna().any() else {}
    mlflow.log_metrics({"jobs": len(table), "failed": int(perplexities.isna().sum())} | best, run_id=run)
    for artifact in filter(Path.is_file, (file, file.with_suffix(".svg"))):
        mlflow.log_artifact(str(artifact), run_id=run)
    if output:
        mlflow.MlflowClient().set_tag(run, tracking.OUTPUT, output)


def digest(table: Path) -> str:
    """The sha256 of a grid's table in reports/, by which publish finds the run of the grid."""
    return hashlib.sha256(table.read_bytes()).hexdigest()


def _begin(config: DictConfig) -> str:
    """Begins the parent run of a multirun. Returns its id."""
    client = tracking.open_store()
    folder = Path(config.hydra.sweep.dir)
    experiment = tracking.open_experiment(client, Path(config.data))
    name = f"{config.hydra.job.name} {folder.parent.name} {folder.name}"
    tags = {"stage": "sweep"} | tracking.code_state()
    run = tracking.create(client, experiment, name=name, tags=tags)
    client.log_param(run, "overrides", " ".join(override.lstrip("+") for override in config.hydra.overrides.task))
    return run


def _end(run: str, data: Path, failed: dict[str, str]) -> None:
    """Ends the run of a grid. A job that failed before it had a run gets one, with the reason. failed: reasons by
    job."""
    client = tracking.open_store()
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    with_run = {job.info.run_name for job in client.search_runs(experiments, f"tags.`{tracking.PARENT}` = '{run}'")}
    for name in failed.keys() - with_run:
        tags = {"stage": "train", tracking.PARENT: run, "failure": failed[name][:5000]}
        job = tracking.create(client, tracking.open_experiment(client, data), name=name, tags=tags)
        client.set_terminated(job, "FAILED")
    client.set_terminated(run, "FAILED" if failed else "FINISHED")


@cache  # one thread for all jobs of a process
def _end_with_parent() -> None:
    """Ends this process soon after its parent has ended, as Ctrl-C would: a training saves its state."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(SAVING)
        os.kill(os.getpid(), signal.SIGKILL)  # a process that waits for its next job ignores any other signal

    Thread(target=watch, daemon=True).start()


def collect(folder: Path) -> pd.DataFrame:
    """A row for each job of a multirun: its overrides, its perplexities, and why it failed ('' if it did not)."""
    from pipeline.reporting.figures import by_number

    rows = []
    jobs = [path.parent.parent for path in folder.glob(JOBS)]
    for job in sorted(jobs, key=lambda job: by_number(job.name)):
        row = {"job": job.name} | dict(override.partition("=")[::2] for override in _overrides(job))
        failure = job / FAILURE
        metrics = job / "metrics.json"
        complete = metrics.is_file() and not failure.is_file()
        figures_of_job = read_metrics(job) | _best_epoch(job) if complete else {}
        lines = failure.read_text(encoding="utf-8").strip().split("\n") if failure.is_file() else [""]
        reason = lines[-1] if lines[0].startswith("Traceback") else "; ".join(lines)
        row |= {key: figures_of_job.get(key, float("nan")) for key in SHOWN}
        rows.append(row | {"failure": "" if complete else reason or "stopped before its end"})
    table = pd.DataFrame(rows, columns=None if rows else ["job", *SHOWN, "failure"])
    return table.drop(columns="train_raw") if table["train_raw"].isna().all() else table  # if no job scores training


def _best_epoch(job: Path) -> dict[str, float]:
    """The epoch whose weights a job keeps, and the running training perplexity of that epoch."""
    best = pd.read_csv(job / "curve.csv").sort_values(["valid_perplexity", "epoch"]).iloc[0]
    return {"best_epoch": int(best["epoch"]), "train_running": best["train_perplexity"]}


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """The table of a grid for people: the best row first, without columns that are empty or the same in every row. If
    no job failed, it has means over seeds."""
    from pipeline.reporting.figures import over_seeds

    if (table["failure"] == "").all():
        table = over_seeds(table.drop(columns="failure"))
    if len(table) < 2:
        return table.drop(columns=[name for name in table if (table[name] == "").all()])
    columns = [name for name in table if name in SHOWN or table[name].nunique(dropna=False) > 1]
    return table[columns].sort_values("valid_corrected", kind="stable", na_position="last")


def _overrides(job: Path) -> list[str]:
    """The overrides of a job, from the command line or the grid, without the + with which Hydra accepts any key."""
    overrides = OmegaConf.to_container(OmegaConf.load(job / ".hydra" / "overrides.yaml"))
    return [override.lstrip("+") for override in overrides]
