"""MLflow as a view of the runs. No stage fails because tracking does.

Each model is a run; the runs of one state of the code and data stand under one parent run. The default store is
mlflow.db at the repository's root; MLFLOW_TRACKING_URI points elsewhere.
"""

import logging
import os
import platform
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.running.keys import ROOT

if TYPE_CHECKING:  # MLflow takes more than a second to import, so what opens a store imports it
    from filelock import FileLock
    from mlflow import MlflowClient

    from pipeline.data import record

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("DO_NOT_TRACK", "true")
# A server that doesn't answer is found out in seconds; its default is minutes of silence.
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "10")

EXPERIMENT = "nplm"
GROUP = "nplm.group"
PARENT = "mlflow.parentRunId"
SWEEP = "NPLM_PARENT_RUN"  # set by a multirun, whose jobs then stand under its run
# What makes a commit dirty; reports and locks don't.
CODE = ("pipeline", "conf", "dvc.yaml", "experiments/*/dvc.yaml", "requirements.txt")

log = logging.getLogger(__name__)


def unreachable() -> tuple[type[Exception], ...]:
    """What is raised where a store can't be reached or read."""
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    return MlflowException, SQLAlchemyError, OSError


class Run:
    """One MLflow run. Where tracking fails it says so once, and every later call does nothing."""

    def __init__(self, client: "MlflowClient | None", run_id: str):
        self.client, self.run_id = client, run_id
        self.costs: dict[str, float] = {}  # what the stage says of its own time; see recorded

    def metrics(self, values: Mapping[str, float], step: int = 0) -> None:
        """Logs a batch of metrics at a step."""
        self._log(metrics=[(key, float(value), step) for key, value in values.items()])

    def parameters(self, values: Mapping[str, object]) -> None:
        """Logs parameters; nested mappings get dotted names."""
        self._log(parameters=[(key, str(value)) for key, value in flattened(values)])

    def end(self, status: str) -> None:
        """FINISHED, FAILED or KILLED."""
        self._tolerate(lambda client: client.set_terminated(self.run_id, status))

    def _log(self, metrics: Iterable[tuple[str, float, int]] = (), parameters: Iterable[tuple[str, str]] = ()) -> None:
        self._tolerate(lambda client: log_batch(client, self.run_id, metrics, parameters))

    def _tolerate(self, call: Callable[["MlflowClient"], None]) -> None:
        if self.client is None:
            return
        try:
            call(self.client)
        except unreachable() as error:
            _warn(error)
            self.client = None


@contextmanager
def run(made: "record.Record") -> Iterator[Run]:
    """The MLflow run of a stage's run, under the parent of this code and data, or of the multirun under way.

    Its parameters are what run.json will say. Its status follows how the block ends.
    """
    code = code_state()
    try:
        client = open_client()
        parent = os.environ.get(SWEEP) or group_run(client, code, made.data)
        machine = f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}"
        own = tags_of(made) | code | {"machine": machine, PARENT: parent}
        created = client.create_run(experiment_of(client), run_name=_name(made.name, made.seed), tags=own)
        current = Run(client, created.info.run_id)
    except unreachable() as error:
        _warn(error)
        current = Run(None, "")
    current.parameters(parameters_of(made))
    try:
        yield current
    except KeyboardInterrupt:
        current.end("KILLED")
        raise
    except BaseException:
        current.end("FAILED")
        raise
    current.end("FINISHED")


def tags_of(made: "record.Record") -> dict[str, str]:
    """By which a run is found."""
    return {"stage": made.stage, "model": made.name, "seed": str(made.seed), "data": made.data}


def parameters_of(made: "record.Record") -> dict[str, str]:
    """What MLflow shows as a run's parameters: the configuration of run.json, nested keys with dots."""
    return strings(dict(flattened({"stage": made.stage, "seed": made.seed} | made.config)))


def _name(model: str, seed: int) -> str:
    """mlp5-0; in a multirun what the job overrides, which tells it from the others."""
    if SWEEP not in os.environ:
        return f"{model}-{seed}"
    from hydra.core.hydra_config import HydraConfig

    return HydraConfig.get().job.override_dirname


def open_sweep(name: str) -> Run:
    """The parent run of a multirun; the jobs find it through the environment, in other processes too."""
    try:
        client = open_client()
        parent = client.create_run(
            experiment_of(client), run_name=name, tags=strings({"stage": "sweep"} | code_state())
        )
    except unreachable() as error:
        _warn(error)
        return Run(None, "")
    os.environ[SWEEP] = parent.info.run_id
    return Run(client, parent.info.run_id)


def open_client() -> "MlflowClient":
    """A client of a store that exists: two processes that create one SQLite file at the same time break it."""
    from mlflow import MlflowClient
    from sqlalchemy.engine import make_url

    for name in ("mlflow", "alembic"):  # they tell of every table of a new database
        logging.getLogger(name).setLevel(logging.WARNING)
    uri = os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{ROOT / 'mlflow.db'}"
    file = uri.startswith("sqlite:") and make_url(uri).database
    if file and not Path(file).parent.is_dir():
        raise FileNotFoundError(f"MLFLOW_TRACKING_URI={uri}: no such folder")  # MLflow would try for minutes
    with store_lock():
        client = MlflowClient(uri)
        experiment_of(client)
    return client


def log_batch(
    client: "MlflowClient",
    run_id: str,
    metrics: Iterable[tuple[str, float, int]],
    parameters: Iterable[tuple[str, str]],
) -> None:
    """Logs metrics, each with its step, and parameters of a run in one call."""
    from mlflow.entities import Metric, Param
    from mlflow.utils.time import get_current_time_millis

    now = get_current_time_millis()
    client.log_batch(
        run_id,
        metrics=[Metric(key, value, now, step) for key, value, step in metrics],
        params=[Param(key, value) for key, value in parameters],
    )


def store_lock() -> "FileLock":
    """Held while a local store is made: two processes would both create what neither has found."""
    from filelock import FileLock

    return FileLock(ROOT / ".mlflow.lock", timeout=60)


def experiment_of(client: "MlflowClient") -> str:
    """The id of the project's experiment, which is made where it is not there."""
    found = client.get_experiment_by_name(EXPERIMENT)
    if found:
        return found.experiment_id
    local = not os.environ.get("MLFLOW_TRACKING_URI")
    return client.create_experiment(EXPERIMENT, artifact_location=(ROOT / "mlartifacts").as_uri() if local else None)


def group_run(client: "MlflowClient", code: Mapping[str, str], data: str) -> str:
    """The parent run of this state of the code and data: found, or opened by the first that needs it."""
    key = f"{code['commit']}{'+' if code['dirty'] == 'true' else ''} {data[:12]}"
    experiment = experiment_of(client)
    with store_lock():
        runs = client.search_runs([experiment], f"tags.`{GROUP}` = '{key}'", max_results=1)
        if runs:
            return runs[0].info.run_id
        tags = {GROUP: key, "stage": "pipeline", "data": data} | code
        parent = client.create_run(experiment, run_name=f"pipeline {key}", tags=strings(tags))
        client.set_terminated(parent.info.run_id)
        return parent.info.run_id


def code_state(*paths: str) -> dict[str, str]:
    """Commit of the checkout, and whether what lies below `paths`, or else code or configuration, differs from it."""
    commit = _git("rev-parse", "--short=10", "HEAD") or "no-commit"
    return {"commit": commit, "dirty": str(bool(_git("status", "--porcelain", "--", *(paths or CODE)))).lower()}


def _git(*arguments: str) -> str:
    try:
        return subprocess.run(
            ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def flattened(values: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Keys and values of nested mappings, an inner key with its outer one and a dot before it."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from flattened(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def strings(tags: Mapping[str, object]) -> dict[str, str]:
    """Values as text, which is what MLflow's tags and parameters are."""
    return {key: str(value) for key, value in tags.items()}


def _warn(error: Exception) -> None:
    log.warning("MLflow can't be reached, so this run is not tracked; its results are safe. %s", str(error)[:300])
