"""What a multirun adds to its jobs: one parent run in MLflow, and a table of the grid at the end."""

import atexit
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

from pipeline.data.corpus import read_corpus
from pipeline.data.errors import InputError
from pipeline.data.files import read_json
from pipeline.reporting import figures, style
from pipeline.running import tracking
from pipeline.running.app import FAILURE, exit_code
from pipeline.running.recorded import experiment_name

FIGURES = ("valid", "valid_seen")  # a grid is there to choose, and test is not for choosing
BEST = "best_valid"  # a grid's best validation perplexity, in MLflow
LAUNCHER = "NPLM_LAUNCHER"  # the process of a multirun, as its jobs' environment has it
SAVING = 10  # seconds that a job has to save its state


class Grid(Callback):
    """Hydra's callback of conf/train.yaml. A single run passes it by.

    table: a second place for grid.csv, and for its picture, relative to where the command was called; "" for none. A
    grid with failed jobs is not put there: it would take the place of a whole one.
    """

    def __init__(self, table: str = ""):
        self.table = table

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Opens the parent run; the jobs, in this process or others, find it in their environment."""
        if config.hydra.launcher._target_.endswith(".SlurmLauncher") and not shutil.which("srun"):
            sys.exit(exit_code("hydra/launcher=slurm: no srun here, so no SLURM; for this machine's cores: joblib"))
        for given in config.hydra.overrides.task:
            if given.lstrip("+").startswith(("out=", "timing=")):
                sys.exit(exit_code(f"{given}: each job of a grid has a folder of its own; give hydra.sweep.dir=FOLDER"))
        folder, varied = Path(config.hydra.sweep.dir), _varied(config)
        try:
            if "data" not in varied:  # else each job would fail
                read_corpus(config.data)
            self.experiment = experiment_name(Path(config.data))
        except InputError as error:  # Hydra would only warn
            sys.exit(exit_code(str(error)))
        os.environ[LAUNCHER] = str(os.getpid())
        name = f"{config.hydra.job.name} {folder.parent.name} {folder.name}"
        self.parent = tracking.open_sweep(name, self.experiment, varied)
        self.parent.parameters({"overrides": " ".join(config.hydra.overrides.task)})
        # Hydra calls on_multirun_end only where every job could be composed and none was interrupted.
        atexit.register(self.parent.end, "FAILED")

    def on_job_start(self, config: DictConfig, **kwargs: Any) -> None:
        """A job in a process of its own, such as one of joblib's, ends when that of the multirun is gone."""
        if os.environ.get(LAUNCHER) == str(os.getppid()):
            _end_with_parent()

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        """Writes grid.csv and its picture into the multirun's folder and prints it, the best first; exit code 1 where a
        job failed."""
        atexit.unregister(self.parent.end)
        folder = Path(config.hydra.sweep.dir)
        table = collect(folder)
        path, drawn_at = folder / "grid.csv", folder / "grid.svg"
        table.to_csv(path, index=False)
        drawn_at.unlink(missing_ok=True)  # of an earlier multirun there
        failed = int((table["failure"] != "").sum())
        if table["valid"].notna().any():
            drawn = style.alone(figures.search(table))
            drawn_at.write_text(drawn, encoding="utf-8")
            if self.table and not failed:
                table.drop(columns="failure").to_csv(self.table, index=False, float_format="%.2f")
                Path(self.table).with_suffix(".svg").write_text(drawn, encoding="utf-8")
        print(f"\n{shown(table).to_string(index=False, float_format='%.2f', na_rep='')}\n")
        print(*filter(Path.is_file, (path, drawn_at)), sep="\n")
        failures = {
            tracking.job_name(_overrides(folder / job)): reason
            for job, reason in zip(table["job"], table["failure"], strict=True)
            if reason
        }
        tracking.close_sweep(self.parent, self.experiment, failures)
        best = {BEST: table["valid"].min()} if table["valid"].notna().any() else {}
        self.parent.metrics({"jobs": len(table), "failed": failed} | best)
        self.parent.files(path, drawn_at)
        self.parent.end("FAILED" if failed else "FINISHED")
        if failed:
            reasons = list(dict.fromkeys(failures.values()))
            why = reasons[0] if len(reasons) == 1 else f"{path} says why"
            sys.exit(f"error: {failed} of {len(table)} jobs failed: {why}")


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
    jobs = [path.parent.parent for path in folder.glob("*/.hydra/overrides.yaml")]
    for job in sorted(jobs, key=lambda job: figures.by_number(job.name)):
        row = {"job": job.name} | dict(override.partition("=")[::2] for override in _overrides(job))
        metrics = read_json(job / "metrics.json") if (job / "metrics.json").is_file() else {}
        row |= {key: metrics.get(key, float("nan")) for key in FIGURES}
        failure = job / FAILURE
        row["failure"] = failure.read_text(encoding="utf-8").strip().split("\n")[-1] if failure.is_file() else ""
        if not metrics and not row["failure"]:
            row["failure"] = "stopped before its end"
        rows.append(row)
    return pd.DataFrame(rows, columns=None if rows else ["job", *FIGURES, "failure"])


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """A grid's table as it is read: the best first, without columns that are empty or the same in every row."""
    if len(table) < 2:
        return table.drop(columns=[name for name in table if (table[name] == "").all()])
    differ = [name for name in table if name in FIGURES or table[name].nunique(dropna=False) > 1]
    return table[differ].sort_values("valid", kind="stable", na_position="last")


def _overrides(job: Path) -> list[str]:
    """What the command line, or the grid, gave a job."""
    return OmegaConf.to_container(OmegaConf.load(job / ".hydra" / "overrides.yaml"))


def _varied(config: DictConfig) -> list[str]:
    """The keys in which the jobs of a multirun will differ: those with several values on the command line or in a file
    of conf/search."""
    given = OverridesParser.create().parse_overrides(list(config.hydra.overrides.task))
    swept = [override.get_key_element() for override in given if override.is_sweep_override()]
    return [*swept, *(config.hydra.sweeper.get("params") or {})]
