"""MLflow as a view of the results. A stage does not fail if tracking fails.

A run begins with its stage, or later (`running`), and gets the learning curve during training. Everything else comes
from the files of the result: `log` reads them, called at the end of a stage or later (backlog.py). Each corpus has an
experiment. The runs of one state of code and data have one parent run. The default store is mlflow.db at the root of
the checkout.

The metrics of a run: `valid_raw`, `test_corrected` and others without a prefix are those of the finished model;
`curve/` has a value for each epoch, `cost/` time and memory of the stage, `system/` MLflow's measurements of the
machine.
"""

import hashlib
import logging
import os
import platform
import re
import subprocess
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import psutil
from filelock import FileLock

from pipeline.config.base import ROOT
from pipeline.core.common.errors import InputError
from pipeline.data import record as records
from pipeline.data.files import read_json
from pipeline.running import paper

if TYPE_CHECKING:  # MLflow takes more than a second to import, so functions import it
    from mlflow import MlflowClient

# An experiment of DVC's queue runs in a temporary copy of the checkout, which DVC names.
CHECKOUT = Path(os.environ.get("DVC_ROOT", ROOT))
os.environ.setdefault("MLFLOW_TRACKING_URI", f"sqlite:///{CHECKOUT / 'mlflow.db'}")
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
# If a server does not answer, give up after seconds; MLflow's default is minutes.
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "6")

GROUP = "nplm.group"  # tag of a parent run: the state of code and data
OUTPUT = "nplm.output"  # tag of a complete run: the digest of its result
TRAINING = "nplm.training"  # tag: the key of the checkpoint, by which a resumed training finds its run
PROCESS = "nplm.process"  # tag: host, number and start time of the process of a run
CLOCK = 60  # seconds by which a corrected clock may have changed the start time of a process
SEARCHES = "-searches"  # ends the name of the experiment of a corpus's committed grids, which the user did not run
PARENT = "mlflow.parentRunId"
NAME = "mlflow.runName"
NOTE = "mlflow.note.content"
SWEEP = "NPLM_PARENT_RUN"  # in the environment of a multirun's job: its parent run
JOB = "NPLM_JOB"  # in the environment of a multirun's job: its name
METRIC_FILES = ("metrics.json", "out_of_vocabulary.json")  # with the perplexities of a stage
FILES = (records.FILE, *METRIC_FILES, "curve.csv")  # the files of a result that a run has, if they exist
# Changes in these make a commit dirty; changes in reports and locks do not.
CODE = ("pipeline", "conf", "dvc.yaml", "experiments/*/dvc.yaml", "requirements.txt")


@dataclass
class Run:
    """A run of a stage. If the store fails, it logs one warning and tracks nothing more."""

    id: str | None = None
    tracked: bool = True
    costs: dict[str, float] = field(default_factory=dict)  # costs that the stage itself measures; see stage.recorded
    consequence: str = "this run is not tracked; its results are safe"  # where the store fails
    begin: Callable[[], str] | None = None  # begins the run in MLflow, by the first call from `due` on; returns its id
    due: float = 0.0  # by time.monotonic

    @property
    def waits(self) -> bool:
        """Whether it has not begun in MLflow."""
        return self.tracked and self.begin is not None and self.id is None

    def begin_when_due(self) -> None:
        """Begins the run in MLflow if it is due. `call` does so too."""
        self.call(lambda: None)

    def call(self, function: Callable[..., Any], *arguments: object) -> Any:
        """Calls a function that uses the store. Returns its result; None if the run waits, or if the store fails or has
        failed."""
        if not self.tracked or (self.waits and time.monotonic() < self.due):
            return None
        try:
            with warnings.catch_warnings(
                action="ignore"
            ):  # of MLflow's libraries, which PYTHONWARNINGS=error would make errors
                if self.waits:
                    self.id = self.begin()
                return function(*arguments)
        except Exception as error:  # of any store, driver or server: no result depends on it
            self.tracked = False
            message = f"MLflow can't be reached, so {self.consequence}. {line(error)}"
            logging.getLogger(__name__).warning("%s", message)
            return None


@contextmanager
def running(
    record: records.Record, data: Path, training: str = "", finished: bool = False, after: float = 0.0
) -> Iterator[Run]:
    """The run of a stage. Its status becomes FINISHED, FAILED or KILLED as the block ends.

    after: seconds from now before which nothing is written into the store, and MLflow is not imported, unless the stage
    fails; the run begins with the first call after them. Other arguments: see begin.
    """
    source = {} if finished else code_state() | {"mlflow.source.name": f"pipeline.{record.stage}"}
    start = int(1000 * time.time())

    def begin_now() -> str:
        run_id = begin(record, data, source=source, training=training, finished=finished, start=start)
        mlflow().start_run(run_id, log_system_metrics=bool(training))
        return run_id

    run = Run(begin=begin_now, due=time.monotonic() + after)
    run.begin_when_due()
    status = "FAILED"
    try:
        yield run
        status = "FINISHED"
    except KeyboardInterrupt:
        status = "KILLED"
        raise
    except Exception as error:
        failure = line(error)
        run.due = 0.0
        run.call(lambda: mlflow().set_tag("failure", failure))
        raise
    finally:
        if not run.waits:
            run.call(lambda: mlflow().end_run(status))
            with suppress(Exception):  # a run that the store lost would stay active in the next job of this process
                mlflow().end_run(status)


def begin(
    record: records.Record,
    data: Path,
    source: Mapping[str, str],
    training: str = "",
    finished: bool = False,
    start: int | None = None,
) -> str:
    """The id of a run for a result: the stopped run of the same training if there is one, else a new run.

    data: the folder of the corpus; source: tags that name the code; training: the key of the checkpoint; finished:
    whether to take the finished run of the training in place of a stopped one; start: of the stage, in ms since 1970,
    if it is not now.
    """
    client = open_store()
    experiment = open_experiment(client, data)
    name = os.environ.get(JOB) or f"{record.name}-{record.seed}"
    tags = {"stage": record.stage, "model": record.name, "seed": str(record.seed), "data": record.data, **source}
    code = source if "commit" in source else code_state()
    tags |= {PARENT: os.environ.get(SWEEP) or _group(client, experiment, data=record.data, code=code)}
    condition = ""
    if training:
        tags |= {TRAINING: training}
        status = "status = 'FINISHED'" if finished else "status != 'FINISHED' and status != 'RUNNING'"
        condition = f"tags.`{TRAINING}` = '{training}' and {status}"
    return create(client, experiment, name=name, tags=tags, match=condition, start=start)


def create(
    client: "MlflowClient",
    experiment: str,
    name: str,
    tags: Mapping[str, str],
    match: str = "",
    start: int | None = None,
) -> str:
    """The id of a run of this process with these tags: the run that meets the condition `match`, else a new one.
    start: see begin."""
    from mlflow.entities import RunTag

    tags = {PROCESS: _process(), **tags}
    for run in client.search_runs([experiment], match, max_results=1) if match else []:
        client.log_batch(run.info.run_id, tags=[RunTag(key, value) for key, value in (tags | {NAME: name}).items()])
        return run.info.run_id
    return client.create_run(experiment, run_name=name, tags=tags, start_time=start).info.run_id


def log(run: str, folder: Path, data: Path, cost: Mapping[str, float]) -> None:
    """Logs the files of a result in a run, and last the tag of a complete run.

    run: its id; folder: of the result; data: the folder of the corpus; cost: time and memory of the stage.
    """
    import pandas as pd
    from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param, RunTag

    client = mlflow().MlflowClient()
    record = records.read(folder)
    files = [folder / name for name in FILES if (folder / name).is_file()]
    figures = {f"cost/{key}": value for key, value in cost.items()}
    for file in files:
        if file.name in METRIC_FILES:
            figures |= {key: value for key, value in read_json(file).items() if isinstance(value, (int, float))}
        elif file.name == "curve.csv":
            log_curve(run, pd.read_csv(file).to_dict("records"))
        client.log_artifact(run, str(file))
    figures |= paper.printed(folder, record.name)
    now = int(1000 * time.time())
    params = {"stage": record.stage, "seed": record.seed, **dict(flattened(record.config))}
    client.log_batch(
        run,
        metrics=[Metric(key, value, now, step=0) for key, value in figures.items()],
        params=[Param(key, str(value)) for key, value in params.items()],
    )
    # MLflow takes a digest of at most 36 characters; the tag `data` has all of it.
    corpus = Dataset(name=data.name, digest=record.data[:36], source_type="local", source=str(data))
    with store_lock():
        client.log_inputs(run, [DatasetInput(corpus, [InputTag("mlflow.data.context", "training")])])
    note = paper.note(folder, record.name)
    tags = ({NOTE: note} if note else {}) | {OUTPUT: digest(folder)}
    client.log_batch(run, tags=[RunTag(key, value) for key, value in tags.items()])


def digest(folder: Path) -> str:
    """The sha256 over what a run has of a result: its files, and the name of its table."""
    contents = [(folder / name).read_bytes() for name in FILES if (folder / name).is_file()]
    return hashlib.sha256(b"\0".join([paper.table_of(folder).encode(), *contents])).hexdigest()


def log_curve(run: str, lines: Iterable[Mapping[str, float]]) -> None:
    """Logs the epochs of a learning curve that the run does not have yet."""
    logged_epochs = {
        metric.step for metric in mlflow().MlflowClient().get_metric_history(run, "curve/valid_perplexity")
    }
    for epoch in lines:
        if epoch["epoch"] not in logged_epochs:
            values = {f"curve/{key}": value for key, value in epoch.items() if key != "epoch"}
            mlflow().log_metrics(values, step=int(epoch["epoch"]), run_id=run)


def mlflow() -> ModuleType:
    """The library MLflow, imported only here. It logs warnings, but not each table of a new database."""
    import mlflow

    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.WARNING)
    return mlflow


def open_store() -> "MlflowClient":
    """A client of the store, which is created if it does not exist.

    Only one process creates a SQLite file, under another name at first: two processes would damage it, and a killed one
    would leave half of the tables, from which MLflow can't go on. Raises InputError if no address can name the file.
    """
    if (file := sqlite_file()) and re.search("[%?]", str(file)):
        raise InputError(f"{file}: an address of SQLite can't hold % and ?: set MLFLOW_TRACKING_URI=sqlite:///FILE")
    library = mlflow()
    from mlflow.db import upgrade
    from mlflow.store.db import utils

    utils.MAX_RETRY_COUNT = 0  # else MLflow waits 102 seconds before it reports that a database can't be opened
    with store_lock():
        if file and not file.exists():
            new = file.with_name(f"{file.name}.new")
            for leftover in file.parent.glob(f"{new.name}*"):  # of a killed process
                leftover.unlink()
            upgrade.callback(f"sqlite:///{new}")
            new.replace(file)
        client = library.MlflowClient()
        client.search_experiments(max_results=1)  # opens the store, and creates the tables of an empty database
    return client


def store_lock() -> FileLock:
    """A lock for looking an entry up and creating it, so that no two processes create it: MLflow fails if a second
    process inserts the same data set."""
    return FileLock(CHECKOUT / ".mlflow.lock", timeout=60)


def open_experiment(client: "MlflowClient", data: Path, ending: str = "") -> str:
    """The id of a corpus's experiment, which is created if it does not exist. Runs of killed processes are ended.
    Raises InputError as check_place does. ending: of the experiment's name, such as SEARCHES."""
    name = experiment_name(data) + ending
    file = sqlite_file()
    artifacts = _artifacts(file) if file else None  # MLflow's default is below the current folder
    with store_lock():
        experiment = client.get_experiment_by_name(name)
        experiment = experiment or client.get_experiment(client.create_experiment(name, artifacts))
    check_place(experiment.artifact_location)
    for run in client.search_runs([experiment.experiment_id], "status = 'RUNNING'"):
        # The status is read again, since the process may have ended its run after the search.
        if _has_ended(run.data.tags.get(PROCESS, "")) and client.get_run(run.info.run_id).info.status == "RUNNING":
            client.set_terminated(run.info.run_id, "KILLED")
    return experiment.experiment_id


def check_place(artifact_location: str) -> None:
    """Raises InputError if the checkout was moved or copied, since the store would write into the files of the old
    place. artifact_location: of an experiment."""
    file = sqlite_file()
    if file and artifact_location != _artifacts(file) and artifact_location.endswith("/mlartifacts"):
        raise InputError(
            f"{file} came here from {unquote(artifact_location.removeprefix('file://'))}, as does a checkout that was "
            "moved or copied: `rm mlflow.db && make publish` builds it again from the results of the pipeline; runs of "
            "outputs/ and multirun/ keep their files, but are not in it then"
        )


def _artifacts(file: Path) -> str:
    """The address of the folder for the files of runs, beside the file of the store."""
    return (file.parent / "mlartifacts").as_uri()


def experiment_name(data: Path) -> str:
    """The name of the experiment of a preprocessed corpus: nplm-brown, or of its first 20 texts nplm-brown-20-texts."""
    if not (data / records.FILE).is_file():  # a corpus that preprocess did not write
        return f"nplm-{data.name}"
    corpus = records.read(data).config["corpus"]
    return f"nplm-{corpus['name']}" + (f"-{corpus['texts']}-texts" if corpus["texts"] else "")


def _group(client: "MlflowClient", experiment: str, data: str, code: Mapping[str, str]) -> str:
    """The id of the parent run for a state of code and data. The first run that needs it creates it."""
    code = {key: code[key] for key in ("commit", "dirty")}
    key = f"{code['commit']}{'+' if code['dirty'] == 'true' else ''} {data[:12]}"
    with store_lock():
        for run in client.search_runs([experiment], f"tags.`{GROUP}` = '{key}'", max_results=1):
            return run.info.run_id
        tags = {GROUP: key, "stage": "pipeline", "data": data, **code}
        parent = create(client, experiment, name=f"pipeline {key}", tags=tags)
        client.set_terminated(parent)
        return parent


def _process() -> str:
    """This process: its machine, its number, and its start time, since numbers are reused."""
    return f"{platform.node()} {os.getpid()} {psutil.Process().create_time():.0f}"


def _has_ended(process: str) -> bool:
    """Whether a process of this machine has ended. process: as `_process` describes it."""
    host, *numbers = process.split() or [""]
    if host != platform.node():
        return False
    number, start = map(int, numbers)
    with suppress(psutil.NoSuchProcess):
        return abs(psutil.Process(number).create_time() - start) >= CLOCK
    return True


def sqlite_file() -> Path | None:
    """The file of a SQLite store; None for a store of another kind."""
    scheme, _, path = os.environ["MLFLOW_TRACKING_URI"].partition(":///")
    return Path(path).resolve() if scheme == "sqlite" else None


@cache
def code_state(*paths: str) -> dict[str, str]:
    """The commit of the checkout, and whether it is dirty: whether files below `paths` (by default CODE) differ from
    it.

    An unpacked archive has no commit, even inside another repository. Without git there is no commit either.
    """

    def git(*words: str) -> str:
        command = ["git", f"--git-dir={ROOT / '.git'}", f"--work-tree={ROOT}", *words]
        with suppress(OSError):  # no git
            return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()
        return ""

    commit = git("rev-parse", "--short=10", "HEAD")
    changes = git("status", "--porcelain", "--", *(paths or CODE))
    return {"commit": commit or "no-commit", "dirty": str(bool(changes)).lower()}


def flattened(values: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """The keys and values of nested mappings. An inner key follows its outer key and a dot."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from flattened(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def line(error: object) -> str:
    """An error of the store as part of a line: short, and without the secrets of MLFLOW_TRACKING_URI, encoded as in the
    address or decoded."""
    text = str(error)
    user = r"//(?:[^/@:]*:)?([^/]*)@"  # without a password, the name of the user may be a token
    query = "[?&]password=([^&]*)"
    for secret in filter(None, chain(*re.findall(f"{user}|{query}", os.environ["MLFLOW_TRACKING_URI"]))):
        text = text.replace(secret, "***").replace(unquote(secret), "***")
    return " ".join(text.split())[:300]
