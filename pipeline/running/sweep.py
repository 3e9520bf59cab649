"""What a multirun adds to its jobs: one parent run in MLflow, and a table of the grid at the end."""

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
from pipeline.data.files import read_json
from pipeline.reporting import figures, style
from pipeline.running import tracking
from pipeline.running.app import FAILURE, ending_in_lines

SHOWN = ["valid", "valid_seen", "valid_raw", "train", "best_epoch", "running"]  # to choose by, so without test
JOBS = "*/.hydra/overrides.yaml"  # in the folder of a multirun: what Hydra leaves of each job as it begins
SAVING = 10  # seconds that a job has to save its state


class Grid(Callback):
    """Hydra's callback of conf/train.yaml. A single run passes it by.

    table: a second place for grid.csv, and for its picture, relative to where the command was called; "" for none. A
    grid with failed jobs is not put there: it would take the place of a whole one.
    """

    def __init__(self, table: str = ""):
        self.table, self.run, self.launcher = table, tracking.Run(), os.getpid()

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Opens the parent run, which the next stage ends where this process ends before on_multirun_end. Ends the
        process where no job could do its work."""
        with ending_in_lines():  # Hydra would only warn
            given = OverridesParser.create().parse_overrides(list(config.hydra.overrides.task))
            self.varied = [override.key_or_group for override in given if override.is_sweep_override()]
            self.varied += config.hydra.sweeper.get("params") or {}  # of a search
            self._check(config, [override.key_or_group for override in given])
            for job in Path(config.hydra.sweep.dir).glob(JOBS):
                job.unlink()  # of an earlier multirun there, which may have had more jobs
        self.run.id = self.run.call(_begin, config)

    def _check(self, config: DictConfig, given: list[str]) -> None:
        """Raises InputError where no job could do its work. given: the keys of the command line."""
        if config.hydra.launcher._target_.endswith(".SlurmLauncher") and not shutil.which("srun"):
            raise InputError("hydra/launcher=slurm: no srun here, so no SLURM; for this machine's cores: joblib")
        known = {*dict(check.keys(keys_of("train"))), *groups.names()}
        for key in given:
            if key in ("out", "timing"):
                raise InputError(f"{key}: each job of a grid has a folder of its own; give hydra.sweep.dir=FOLDER")
            if key not in known and not key.startswith("hydra"):
                raise InputError(check.unknown("train", key))
        if "data" not in self.varied:
            read_corpus(config.data)

    def on_job_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Says in the job's environment which run it stands under. A job in a process of its own, such as one of
        joblib's, ends when that of the multirun is gone."""
        if self.run.id:
            os.environ |= {tracking.SWEEP: self.run.id, tracking.JOB: self.job_name(config.hydra.overrides.task)}
        if self.launcher == os.getppid():
            _end_with_parent()

    def job_name(self, overrides: list[str]) -> str:
        """What tells a job from the others."""
        given = [each.lstrip("+") for each in overrides]
        return ", ".join([each for each in given if each.partition("=")[0] in self.varied] or given)

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        """Writes grid.csv and its picture into the multirun's folder and prints it, the best first; exit code 1 where a
        job failed."""
        folder, output = Path(config.hydra.sweep.dir), ""
        table, path, picture = collect(folder), folder / "grid.csv", folder / "grid.svg"
        table.to_csv(path, index=False)
        picture.unlink(missing_ok=True)  # of an earlier multirun there
        failed = {
            self.job_name(_overrides(folder / job.job)): job.failure
            for job in table[table["failure"] != ""].itertuples()
        }
        if table["valid"].notna().any():
            picture.write_text(style.alone(figures.search(table)), encoding="utf-8")
            if self.table and not failed:
                table.drop(columns="failure").to_csv(self.table, index=False, float_format="%.2f")
                shutil.copyfile(picture, Path(self.table).with_suffix(".svg"))
                output = digest(Path(self.table))
        print(f"\n{shown(table).to_string(index=False, float_format='%.2f', na_rep='')}\n")
        print(*filter(Path.is_file, (path, picture)), sep="\n")
        self.run.call(log, self.run.id, path, table, output)
        self.run.call(_end, self.run.id, Path(config.data), failed)
        if failed:
            reasons = list(dict.fromkeys(failed.values()))
            why = reasons[0] if len(reasons) == 1 else f"{path} says why"
            sys.exit(f"error: {len(failed)} of {len(table)} jobs failed: {why}")


def log(run: str, file: Path, table: pd.DataFrame, output: str) -> None:
    """Writes the table of a grid, and its picture beside the file, into a run. output: see digest; "" for none."""
    mlflow, perplexities = tracking.mlflow(), table["valid"].astype(float)
    best = {"best_valid": perplexities.min()} if perplexities.notna().any() else {}
    mlflow.log_metrics({"jobs": len(table), "failed": int(perplexities.isna().sum())} | best, run_id=run)
    for each in filter(Path.is_file, (file, file.with_suffix(".svg"))):
        mlflow.log_artifact(str(each), run_id=run)
    if output:
        mlflow.MlflowClient().set_tag(run, tracking.OUTPUT, output)


def digest(table: Path) -> str:
    """By which publish knows a grid's run: sha256 of its table in reports/."""
    return hashlib.sha256(table.read_bytes()).hexdigest()


def _begin(config: DictConfig) -> str:
    client, folder = tracking.open_store(), Path(config.hydra.sweep.dir)
    experiment = tracking.open_experiment(client, Path(config.data))
    name = f"{config.hydra.job.name} {folder.parent.name} {folder.name}"
    run = tracking.create(client, experiment, name, {"stage": "sweep"} | tracking.code_state())
    client.log_param(run, "overrides", " ".join(each.lstrip("+") for each in config.hydra.overrides.task))
    return run


def _end(run: str, data: Path, failed: dict[str, str]) -> None:
    """Ends a grid's run; a job that failed before it had a run of its own gets one that says why."""
    client = tracking.open_store()
    places = [experiment.experiment_id for experiment in client.search_experiments()]
    begun = {job.info.run_name for job in client.search_runs(places, f"tags.`{tracking.PARENT}` = '{run}'")}
    for name in failed.keys() - begun:
        tags = {"stage": "train", tracking.PARENT: run, "failure": failed[name][:5000]}
        job = tracking.create(client, tracking.open_experiment(client, data), name, tags)
        client.set_terminated(job, "FAILED")
    client.set_terminated(run, "FAILED" if failed else "FINISHED")


@cache  # one watch for all jobs of a process
def _end_with_parent() -> None:
    """Ends this process soon after its parent, which may be killed, as Ctrl-C would: a training saves its state."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(SAVING)
        os.kill(os.getpid(), signal.SIGKILL)  # one that waits for its next job hears no other signal

    Thread(target=watch, daemon=True).start()


def collect(folder: Path) -> pd.DataFrame:
    """One row for each job of a multirun: its overrides, its perplexities, and why it failed ('' if it did not)."""
    rows = []
    jobs = [path.parent.parent for path in folder.glob(JOBS)]
    for job in sorted(jobs, key=lambda job: figures.by_number(job.name)):
        row = {"job": job.name} | dict(override.partition("=")[::2] for override in _overrides(job))
        failure, metrics = job / FAILURE, job / "metrics.json"
        whole = metrics.is_file() and not failure.is_file()
        kept = read_json(metrics) | _of_best_epoch(job) if whole else {}
        said = failure.read_text(encoding="utf-8").strip().split("\n") if failure.is_file() else [""]
        reason = said[-1] if said[0].startswith("Traceback") else "; ".join(said)
        row |= {key: kept.get(key, float("nan")) for key in SHOWN}
        rows.append(row | {"failure": "" if whole else reason or "stopped before its end"})
    table = pd.DataFrame(rows, columns=None if rows else ["job", *SHOWN, "failure"])
    return table.drop(columns="train") if table["train"].isna().all() else table  # where no job scores training


def _of_best_epoch(job: Path) -> dict[str, float]:
    """Which epoch's weights a job keeps, and the running training perplexity of that epoch."""
    best = pd.read_csv(job / "curve.csv").sort_values(["valid_perplexity", "epoch"]).iloc[0]
    return {"best_epoch": int(best["epoch"]), "running": best["train_perplexity"]}


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """A grid's table as it is read: means over seeds where no job failed, the best first, without columns that are
    empty or the same in every row."""
    if (table["failure"] == "").all():
        table = figures.over_seeds(table.drop(columns="failure"))
    if len(table) < 2:
        return table.drop(columns=[name for name in table if (table[name] == "").all()])
    differ = [name for name in table if name in SHOWN or table[name].nunique(dropna=False) > 1]
    return table[differ].sort_values("valid", kind="stable", na_position="last")


def _overrides(job: Path) -> list[str]:
    """What the command line, or the grid, gave a job; without the + that lets Hydra take any key."""
    given = OmegaConf.to_container(OmegaConf.load(job / ".hydra" / "overrides.yaml"))
    return [each.lstrip("+") for each in given]
