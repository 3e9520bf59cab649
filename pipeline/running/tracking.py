"""MLflow as a view of the runs. No stage fails because tracking does.

Each corpus has an experiment, each model a run; the runs of one state of the code and data stand under one parent run.
The default store is mlflow.db at the repository's root; MLFLOW_TRACKING_URI points elsewhere.

A run's metrics: `valid`, `test` and the like are of the finished model; `curve/` holds a value an epoch, `cost/` what
the stage took.
"""

import logging
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pipeline.config.base import ROOT

if TYPE_CHECKING:  # MLflow takes more than a second to import, so what opens a store imports it
    from filelock import FileLock
    from mlflow import MlflowClient

    from pipeline.data import record

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("DO_NOT_TRACK", "true")
# A server that doesn't answer is found out in seconds; its default is minutes of silence.
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "6")

GROUP = "nplm.group"
PROCESS = "nplm.process"  # tag: host, number and start of the process that a run belongs to
CLOCK = 60  # seconds by which the clock, and so the start of a process, may have been set since
FAILURE = "failure"  # tag: why a run failed
HALF_AN_ARTIFACT = ".artifact.uploading.*"  # what MLflow calls an artifact until it is whole
CURVE, COST = "curve/", "cost/"
PARENT, NOTE = "mlflow.parentRunId", "mlflow.note.content"
SWEEP = "NPLM_PARENT_RUN"  # set by a multirun, whose jobs then stand under its run
VARIED = "NPLM_VARIED"  # likewise: the keys in which its jobs differ
# What makes a commit dirty; reports and locks don't.
CODE = ("pipeline", "conf", "dvc.yaml", "experiments/*/dvc.yaml", "requirements.txt")

log = logging.getLogger(__name__)


def unreachable() -> tuple[type[Exception], ...]:
    """What is raised where a store can't be reached or read, or its driver is not installed."""
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    return MlflowException, SQLAlchemyError, OSError, ImportError


class Run:
    """One MLflow run. Where tracking fails it says so once, and every later call does nothing."""

    def __init__(self, client: "MlflowClient | None" = None, run_id: str = "", last_step: int = 0):
        self.client, self.run_id = client, run_id
        self.last_step = last_step  # of the curve that the run has already, where a resumed training reopened it
        self.costs: dict[str, float] = {}  # what the stage says of its own time; see recorded

    def metrics(self, values: Mapping[str, float], step: int = 0) -> None:
        """Logs figures of the finished model, or of a step of its learning curve."""
        prefix = CURVE if step else ""
        self._log(metrics=[(prefix + key, float(value), step) for key, value in values.items()])

    def cost(self, values: Mapping[str, float]) -> None:
        """Logs what the stage took."""
        self._log(metrics=[(COST + key, float(value), 0) for key, value in values.items()])

    def files(self, *paths: Path) -> None:
        """Logs files as artifacts, as far as they are there. Where that fails, the run goes on without them."""
        if self.client is None:
            return
        for path in filter(Path.is_file, paths):
            try:
                self.client.log_artifact(self.run_id, str(path))
            except Exception as error:  # of the library of whichever store of files the server has
                log.warning("MLflow did not take %s: %s", path, told(error))
                return

    def reads(self, folder: Path, digest: str) -> None:
        """Says from which corpus the run is."""
        self.tolerate(lambda client: log_corpus(client, self.run_id, folder, digest))

    def parameters(self, values: Mapping[str, object]) -> None:
        """Logs parameters; nested mappings get dotted names."""
        self._log(parameters=[(key, str(value)) for key, value in flattened(values)])

    def note(self, text: str) -> None:
        """What MLflow shows above a run's figures; nothing for no text."""
        if text:
            self.tolerate(lambda client: client.set_tag(self.run_id, NOTE, text))

    def end(self, status: str, failure: str = "") -> None:
        """FINISHED, FAILED with the reason, or KILLED."""
        if failure:
            self.tolerate(lambda client: client.set_tag(self.run_id, FAILURE, failure[:5000]))
        self.tolerate(lambda client: _end(client, self.run_id, status))

    def _log(self, metrics: Iterable[tuple[str, float, int]] = (), parameters: Iterable[tuple[str, str]] = ()) -> None:
        self.tolerate(lambda client: log_batch(client, self.run_id, metrics, parameters))

    def tolerate(self, call: Callable[["MlflowClient"], None]) -> None:
        """Makes a call of the store, unless an earlier one has failed."""
        if self.client is None:
            return
        try:
            call(self.client)
        except unreachable() as error:
            _warn(error)
            self.client = None


@contextmanager
def run(made: "record.Record", experiment: str, run_id_file: Path | None = None) -> Iterator[Run]:
    """The MLflow run of a stage's run, under the parent of this code and data, or of the multirun under way.

    Its parameters are what run.json will say. Its status follows how the block ends. run_id_file: keeps the run's id,
    so that the same work, when it is resumed, reopens the run.
    """
    code = code_state()
    try:
        client = open_client()
        place = experiment_of(client, experiment)
        close_dead(client, place)
        parent = os.environ.get(SWEEP) or group_run(client, place, code, made.data)
        machine = f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}"
        own = tags_of(made) | source(code, f"pipeline.{made.stage}") | {"machine": machine, PARENT: parent}
        current = _reopened(client, run_id_file, own) or _begun(client, place, _name(made.name, made.seed), own)
        if run_id_file:
            run_id_file.write_text(current.run_id, encoding="utf-8")
    except unreachable() as error:
        _warn(error)
        current = Run()
    current.parameters(parameters_of(made))
    try:
        yield current
    except KeyboardInterrupt:
        current.end("KILLED")
        raise
    except BaseException as error:
        current.end("FAILED", str(error) or type(error).__name__)
        raise
    current.end("FINISHED")


def _begun(client: "MlflowClient", experiment: str, name: str, tags: Mapping[str, str]) -> Run:
    created = client.create_run(experiment, run_name=name, tags=dict(tags) | {PROCESS: _process()})
    return Run(client, created.info.run_id)


def _reopened(client: "MlflowClient", run_id_file: Path | None, tags: Mapping[str, str]) -> Run | None:
    """The run whose id a file keeps, if this store has it."""
    from mlflow.exceptions import MlflowException

    run_id = run_id_file.read_text(encoding="utf-8") if run_id_file and run_id_file.is_file() else ""
    if not run_id:
        return None
    try:
        found = client.get_run(run_id)
    except MlflowException:  # another store's
        return None
    if found.info.lifecycle_stage != "active":
        return None
    for key, value in (dict(tags) | {PROCESS: _process()}).items():
        client.set_tag(run_id, key, value)
    if FAILURE in found.data.tags:
        client.delete_tag(run_id, FAILURE)
    client.update_run(run_id, status="RUNNING")  # last: close_dead ends a running one whose process is gone
    curve = [key for key in found.data.metrics if key.startswith(CURVE)]
    steps = [metric.step for key in curve[:1] for metric in client.get_metric_history(run_id, key)]
    return Run(client, run_id, max(steps, default=0))


def _process() -> str:
    """This process: its machine, its number, and when it began, since numbers are given again."""
    import psutil

    return f"{platform.node()} {os.getpid()} {psutil.Process().create_time():.0f}"


def close_dead(client: "MlflowClient", experiment: str) -> None:
    """Ends the runs of this machine's processes that are gone: a process that is killed can't do it."""
    for found in client.search_runs([experiment], "attributes.status = 'RUNNING'"):
        host, *process = found.data.tags.get(PROCESS, "").split() or [""]
        if host == platform.node() and _is_gone(*map(int, process)):
            _end(client, found.info.run_id, "KILLED")


def _end(client: "MlflowClient", run_id: str, status: str) -> None:
    """Ends a run, and removes what is left of a file that was on its way into a store on this machine."""
    from mlflow.utils.file_utils import local_file_uri_to_path

    client.set_terminated(run_id, status)
    place = client.get_run(run_id).info.artifact_uri
    if place.startswith("file:"):
        for half in Path(local_file_uri_to_path(place)).glob(HALF_AN_ARTIFACT):
            half.unlink(missing_ok=True)


def _is_gone(number: int, began: int) -> bool:
    import psutil

    try:
        return abs(psutil.Process(number).create_time() - began) > CLOCK
    except psutil.NoSuchProcess:
        return True
    except psutil.Error:  # it is there, and another user's
        return False


def tags_of(made: "record.Record") -> dict[str, str]:
    """By which a run is found."""
    return {"stage": made.stage, "model": made.name, "seed": str(made.seed), "data": made.data}


def source(code: Mapping[str, str], module: str) -> dict[str, str]:
    """The state of the code as tags: ours, and those that MLflow shows as a run's source."""
    return dict(code) | {"mlflow.source.name": module, "mlflow.source.git.commit": code["commit"]}


def parameters_of(made: "record.Record") -> dict[str, str]:
    """What MLflow shows as a run's parameters: the configuration of run.json, nested keys with dots."""
    return strings(dict(flattened({"stage": made.stage, "seed": made.seed} | made.config)))


def _name(model: str, seed: int) -> str:
    """mlp5-0; in a multirun what tells the job from the others."""
    if SWEEP not in os.environ:
        return f"{model}-{seed}"
    from hydra.core.hydra_config import HydraConfig

    return job_name(HydraConfig.get().overrides.task)


def job_name(overrides: Iterable[str]) -> str:
    """The overrides of a multirun's job that differ from job to job, as far as the multirun knows which they are."""
    varied = set(os.environ.get(VARIED, "").split())
    overrides = list(overrides)
    return ", ".join([each for each in overrides if each.partition("=")[0] in varied] or overrides)


def open_sweep(name: str, experiment: str, varied: Iterable[str]) -> Run:
    """The parent run of a multirun; the jobs find it through the environment, in other processes too.

    varied: the keys that differ from job to job.
    """
    os.environ[VARIED] = " ".join(varied)
    try:
        client = open_client()
        place = experiment_of(client, experiment)
        close_dead(client, place)
        parent = _begun(client, place, name, {"stage": "sweep"} | source(code_state(), "pipeline.train"))
    except unreachable() as error:
        _warn(error)
        return Run()
    os.environ[SWEEP] = parent.run_id
    return parent


def close_sweep(parent: Run, experiment: str, failures: Mapping[str, str]) -> None:
    """Gives each failed job of a multirun a run that says why, if it has none: it may not have come so far.

    failures: the reason by the job's name.
    """

    def complete(client: "MlflowClient") -> None:
        places = [found.experiment_id for found in client.search_experiments()]
        jobs = client.search_runs(places, f"tags.`{PARENT}` = '{parent.run_id}'")
        begun = {job.info.run_name: job for job in jobs}
        for name, reason in failures.items():
            if name not in begun:
                tags = {"stage": "train", PARENT: parent.run_id}
                _begun(client, experiment_of(client, experiment), name, tags).end("FAILED", reason)
            elif begun[name].info.status == "RUNNING":
                Run(client, begun[name].info.run_id).end("FAILED", reason)

    parent.tolerate(complete)


def open_client() -> "MlflowClient":
    """A client of a store that exists: two processes that create one SQLite file at the same time break it, and so does
    one that is killed while it creates it."""
    from mlflow import MlflowClient

    for name in ("mlflow", "alembic"):  # they tell of every table of a new database
        logging.getLogger(name).setLevel(logging.WARNING)
    uri = os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{ROOT / 'mlflow.db'}"
    file = _sqlite_file(uri)
    if file and not file.parent.is_dir():  # MLflow would make it
        raise FileNotFoundError(f"MLFLOW_TRACKING_URI={uri}: no such folder")
    if file and not os.access(file if file.exists() else file.parent, os.W_OK):
        raise PermissionError(f"MLFLOW_TRACKING_URI={uri}: it can't be written")
    try:
        with store_lock():
            if file and not file.exists():
                _make_database(uri, file)
            _check_opens(uri)
            client = MlflowClient(uri)
            client.search_experiments(max_results=1)  # makes the tables of an empty database
    except ValueError as error:  # an address that is none
        raise ConnectionError(f"MLFLOW_TRACKING_URI={uri}: {error}") from error
    return client


def _make_database(uri: str, file: Path) -> None:
    """Makes a SQLite database beside its place and then moves it there: MLflow can't go on from half its tables."""
    from mlflow.db import upgrade
    from sqlalchemy.engine import make_url

    folder = file.with_name(f"{file.name}.new")
    shutil.rmtree(folder, ignore_errors=True)  # of a process that was killed
    folder.mkdir()
    try:
        new = make_url(uri).set(database=str(folder / file.name)).render_as_string(hide_password=False)
        _check_opens(new)
        upgrade.callback(new)
        (folder / file.name).replace(file)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _check_opens(uri: str) -> None:
    """Opens a database once, and raises what its driver does: MLflow would try for minutes before it says that."""
    import sqlalchemy
    from mlflow.store.db.db_types import DATABASE_ENGINES
    from mlflow.store.db.utils import create_sqlalchemy_engine

    if uri.partition(":")[0].partition("+")[0] in DATABASE_ENGINES:
        engine = create_sqlalchemy_engine(uri)
        try:
            sqlalchemy.inspect(engine)
        finally:
            engine.dispose()


def log_corpus(client: "MlflowClient", run_id: str, folder: Path, digest: str) -> None:
    """Names a corpus as the data set that a run reads."""
    from mlflow.entities import Dataset, DatasetInput, InputTag

    # The digest is as long as MLflow takes it; the tag `data` has all of it.
    corpus = Dataset(name=folder.name, digest=digest[:36], source_type="local", source=str(folder))
    client.log_inputs(run_id, [DatasetInput(corpus, [InputTag("mlflow.data.context", "training")])])


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
    """Held while something is looked for and made: two processes would both make what neither has found."""
    from filelock import FileLock

    return FileLock(ROOT / ".mlflow.lock", timeout=60)


def experiment_of(client: "MlflowClient", name: str) -> str:
    """The id of an experiment, which is made where it is not there."""
    with store_lock():
        found = client.get_experiment_by_name(name)
        if found:
            return found.experiment_id
        database = _sqlite_file(client.tracking_uri)  # MLflow would put files below whatever folder it is called in
        files = (database.parent / "mlartifacts").as_uri() if database else None
        return client.create_experiment(name, artifact_location=files)


def _sqlite_file(uri: str) -> Path | None:
    """The file of a SQLite store; None for a store of another kind, or in memory."""
    from sqlalchemy.engine import make_url

    database = make_url(uri).database if uri.startswith("sqlite:") else None
    return Path(database).resolve() if database and database != ":memory:" else None


def group_run(client: "MlflowClient", experiment: str, code: Mapping[str, str], data: str) -> str:
    """The parent run of this state of the code and data: found, or opened by the first that needs it."""
    key = f"{code['commit']}{'+' if code['dirty'] == 'true' else ''} {data[:12]}"
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


def without_password(text: str) -> str:
    """A text in which what is secret of MLFLOW_TRACKING_URI is not to be read, as it stands there or decoded."""
    secrets = re.findall(r"//(?:[^/@:]*:)?([^/]*)@|[?&]password=([^&]*)", os.environ.get("MLFLOW_TRACKING_URI", ""))
    for secret in filter(None, chain.from_iterable(secrets)):  # a name alone may be a token
        text = text.replace(secret, "***").replace(unquote(secret), "***")
    return text


def told(error: Exception) -> str:
    """An error of the store as part of a line: not long, and without a password."""
    return " ".join(without_password(str(error)).split())[:300]


def _warn(error: Exception) -> None:
    log.warning("MLflow can't be reached, so this run is not tracked; its results are safe. %s", told(error))
