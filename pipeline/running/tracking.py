"""MLflow as a view of the results. No stage fails because tracking does.

A run is begun with its stage, gets its learning curve while it trains, and all else from the files of its result: `log`
is called when a stage ends, and by `nplm publish`. Each corpus has an experiment; the runs of one state of the code and
data stand under one parent run. The default store is mlflow.db at the checkout's root.

A run's metrics: `valid`, `test` and the like are of the finished model; `curve/` holds a value an epoch, `cost/` what
the stage took, `system/` what MLflow measures of the machine.
"""

import hashlib
import logging
import os
import platform
import re
import subprocess
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
from pipeline.data import record
from pipeline.data.files import read_json
from pipeline.running import paper

if TYPE_CHECKING:  # MLflow takes more than a second to import, so what opens a store imports it
    from mlflow import MlflowClient

# An experiment of DVC's queue runs in a temporary copy of the checkout, which DVC names.
CHECKOUT = Path(os.environ.get("DVC_ROOT", ROOT))
os.environ.setdefault("MLFLOW_TRACKING_URI", f"sqlite:///{CHECKOUT / 'mlflow.db'}")
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
# A server that doesn't answer costs seconds; MLflow's default is minutes of silence.
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "6")

GROUP = "nplm.group"  # tag of a parent run: the state of the code and data
OUTPUT = "nplm.output"  # tag of a run that is complete: the digest of the result that it shows
TRAINING = "nplm.training"  # tag: the checkpoint's key, by which a resumed training finds its run
PROCESS = "nplm.process"  # tag: host, number and start of the process that a run belongs to
CLOCK = 60  # seconds by which the clock, and so the start of a process, may have been set since
PARENT, NAME, NOTE = "mlflow.parentRunId", "mlflow.runName", "mlflow.note.content"
SWEEP, JOB = "NPLM_PARENT_RUN", "NPLM_JOB"  # in the environment of a multirun's job: its parent run, and its name
METRIC_FILES = ("metrics.json", "out_of_vocabulary.json")  # a stage's perplexities
FILES = (record.FILE, *METRIC_FILES, "curve.csv")  # what a run shows of a result, as far as they are there
# What makes a commit dirty; reports and locks don't.
CODE = ("pipeline", "conf", "dvc.yaml", "experiments/*/dvc.yaml", "requirements.txt")


@dataclass
class Run:
    """A run under way. Where the store fails, it says so once, and nothing more is tracked."""

    id: str | None = None
    tracked: bool = True
    costs: dict[str, float] = field(default_factory=dict)  # what the stage says of its own time; see stage.recorded

    def call(self, function: Callable[..., Any], *arguments: object) -> Any:
        """What a function that uses the store returns; None where the store fails or has failed."""
        if not self.tracked:
            return None
        try:
            with warnings.catch_warnings(action="ignore"):  # of its libraries, errors with PYTHONWARNINGS=error
                return function(*arguments)
        except Exception as error:  # of whichever store, driver or server: no result depends on it
            self.tracked = False
            said = f"MLflow can't be reached, so this run is not tracked; its results are safe. {line(error)}"
            logging.getLogger(__name__).warning("%s", said)
            return None


@contextmanager
def running(made: record.Record, data: Path, training: str = "", again: bool = False) -> Iterator[Run]:
    """The run of a stage, which is FINISHED, FAILED or KILLED as the block ends; see begin."""
    run, status = Run(), "FAILED"
    source = {} if again else code_state() | {"mlflow.source.name": f"pipeline.{made.stage}"}
    run.id = run.call(begin, made, data, source, training, again)
    run.call(lambda: mlflow().start_run(run.id, log_system_metrics=bool(training)))
    try:
        yield run
        status = "FINISHED"
    except KeyboardInterrupt:
        status = "KILLED"
        raise
    except Exception as error:
        failure = line(error)
        run.call(lambda: mlflow().set_tag("failure", failure))
        raise
    finally:
        run.call(lambda: mlflow().end_run(status))
        with suppress(Exception):  # one that the store lost would be the active run of the next job in this process
            mlflow().end_run(status)


def begin(made: record.Record, data: Path, source: Mapping[str, str], training: str = "", again: bool = False) -> str:
    """The id of a run for a result on the corpus in a folder: one that was stopped in this training, else a new one.

    source: tags that say which code makes it. training: the key of its checkpoint. again: whether one that has finished
    it is meant.
    """
    client = open_store()
    experiment = open_experiment(client, data)
    name = os.environ.get(JOB) or f"{made.name}-{made.seed}"
    tags = {"stage": made.stage, "model": made.name, "seed": str(made.seed), "data": made.data, **source}
    tags |= {PARENT: os.environ.get(SWEEP) or _group(client, experiment, made.data)}
    stopped = ""
    if training:
        tags |= {TRAINING: training}
        of = "status = 'FINISHED'" if again else "status != 'FINISHED' and status != 'RUNNING'"
        stopped = f"tags.`{TRAINING}` = '{training}' and {of}"
    return create(client, experiment, name, tags, stopped)


def create(client: "MlflowClient", experiment: str, name: str, tags: Mapping[str, str], match: str = "") -> str:
    """The id of a new run of this process, or of one that meets the condition `match`, which then gets the tags."""
    from mlflow.entities import RunTag

    tags = {PROCESS: _process(), **tags}
    for run in client.search_runs([experiment], match, max_results=1) if match else []:
        client.log_batch(run.info.run_id, tags=[RunTag(key, value) for key, value in (tags | {NAME: name}).items()])
        return run.info.run_id
    return client.create_run(experiment, run_name=name, tags=tags).info.run_id


def log(folder: Path, data: Path, cost: Mapping[str, float]) -> None:
    """Writes what the files of a result say into MLflow's active run, and at last the tag that says it is complete.

    data: the folder of the corpus. cost: what the stage took.
    """
    import pandas as pd
    from mlflow.entities import Dataset, DatasetInput, InputTag

    store, made = mlflow(), record.read(folder)
    run, files = store.active_run().info.run_id, [folder / name for name in FILES if (folder / name).is_file()]
    figures = {f"cost/{key}": value for key, value in cost.items()}
    for file in files:
        if file.name in METRIC_FILES:
            figures |= {key: value for key, value in read_json(file).items() if isinstance(value, (int, float))}
        elif file.name == "curve.csv":
            log_curve(run, pd.read_csv(file).to_dict("records"))
        store.log_artifact(str(file))
    store.log_params({"stage": made.stage, "seed": made.seed, **dict(flattened(made.config))})
    store.log_metrics(figures)
    # A digest as long as MLflow takes it; the tag `data` has all of it.
    corpus = Dataset(name=data.name, digest=made.data[:36], source_type="local", source=str(data))
    with store_lock():
        store.MlflowClient().log_inputs(run, [DatasetInput(corpus, [InputTag("mlflow.data.context", "training")])])
    note = paper.note(folder, made.name)
    store.set_tags(({NOTE: note} if note else {}) | {OUTPUT: digest(folder)})


def digest(folder: Path) -> str:
    """sha256 over what a run shows of a result: its files, and the table that it belongs to."""
    contents = [(folder / name).read_bytes() for name in FILES if (folder / name).is_file()]
    return hashlib.sha256(b"\0".join([paper.table_of(folder).encode(), *contents])).hexdigest()


def log_curve(run: str, lines: Iterable[Mapping[str, float]]) -> None:
    """Adds those epochs of a learning curve that the run does not have."""
    there = {metric.step for metric in mlflow().MlflowClient().get_metric_history(run, "curve/valid_perplexity")}
    for epoch in lines:
        if epoch["epoch"] not in there:
            values = {f"curve/{key}": value for key, value in epoch.items() if key != "epoch"}
            mlflow().log_metrics(values, step=int(epoch["epoch"]), run_id=run)


def mlflow() -> ModuleType:
    """The library, imported where it is used, and silent about every table of a new database."""
    import mlflow

    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.WARNING)
    return mlflow


def open_store() -> "MlflowClient":
    """A client of the store, which is made if it is not there.

    One process makes a SQLite file, and beside its place: two would break it, and MLflow can't go on from half its
    tables, which a killed one would leave. Raises InputError where no address can name the file.
    """
    if (file := sqlite_file()) and re.search("[%?]", str(file)):
        raise InputError(f"{file}: an address of SQLite can't hold % and ?: set MLFLOW_TRACKING_URI=sqlite:///FILE")
    library = mlflow()
    from mlflow.db import upgrade
    from mlflow.store.db import utils

    utils.MAX_RETRY_COUNT = 0  # or MLflow waits 102 seconds before it says that a database can't be opened
    with store_lock():
        if file and not file.exists():
            new = file.with_name(f"{file.name}.new")
            for left in file.parent.glob(f"{new.name}*"):  # by a process that was killed
                left.unlink()
            upgrade.callback(f"sqlite:///{new}")
            new.replace(file)
        client = library.MlflowClient()
        client.search_experiments(max_results=1)  # opens it, and makes the tables of an empty database
    return client


def store_lock() -> FileLock:
    """Held while something is looked for and made, which two processes would otherwise both make: MLflow fails the
    second to insert a data set."""
    return FileLock(CHECKOUT / ".mlflow.lock", timeout=60)


def open_experiment(client: "MlflowClient", data: Path) -> str:
    """The id of a corpus's experiment, which is made if it is not there. Runs of killed processes are ended. Raises
    InputError where the store is of another place, whose files it would write: a checkout was moved or copied."""
    name, file = experiment_name(data), sqlite_file()
    files = (file.parent / "mlartifacts").as_uri() if file else None  # MLflow's own place is below the working folder
    with store_lock():
        experiment = client.get_experiment_by_name(name) or client.get_experiment(client.create_experiment(name, files))
    there = experiment.artifact_location
    if file and there != files and there.endswith("/mlartifacts"):
        raise InputError(
            f"{file} came here from {unquote(there.removeprefix('file://'))}, as does a checkout that was moved or "
            "copied: `rm mlflow.db && make publish` builds it again from the results"
        )
    for run in client.search_runs([experiment.experiment_id], "status = 'RUNNING'"):
        # Asked again, as it may have ended its run since the search.
        if _has_ended(run.data.tags.get(PROCESS, "")) and client.get_run(run.info.run_id).info.status == "RUNNING":
            client.set_terminated(run.info.run_id, "KILLED")
    return experiment.experiment_id


def experiment_name(data: Path) -> str:
    """MLflow's experiment of a preprocessed corpus: nplm-brown, or of some of its texts alone nplm-brown-20-texts."""
    if not (data / record.FILE).is_file():  # a corpus that preprocess did not write
        return f"nplm-{data.name}"
    corpus = record.read(data).config["corpus"]
    return f"nplm-{corpus['name']}" + (f"-{corpus['texts']}-texts" if corpus["texts"] else "")


def _group(client: "MlflowClient", experiment: str, data: str) -> str:
    """The parent run of this state of the code and data, which the first that needs it makes."""
    code = code_state()
    key = f"{code['commit']}{'+' if code['dirty'] == 'true' else ''} {data[:12]}"
    with store_lock():
        for run in client.search_runs([experiment], f"tags.`{GROUP}` = '{key}'", max_results=1):
            return run.info.run_id
        tags = {GROUP: key, "stage": "pipeline", "data": data, **code}
        parent = create(client, experiment, f"pipeline {key}", tags)
        client.set_terminated(parent)
        return parent


def _process() -> str:
    """This process: its machine, its number, and when it began, since numbers are given again."""
    return f"{platform.node()} {os.getpid()} {psutil.Process().create_time():.0f}"


def _has_ended(process: str) -> bool:
    """Whether that is a process of this machine which is no more; process: as `_process` names it."""
    host, *numbers = process.split() or [""]
    if host != platform.node():
        return False
    number, began = map(int, numbers)
    with suppress(psutil.NoSuchProcess):
        return abs(psutil.Process(number).create_time() - began) >= CLOCK
    return True


def sqlite_file() -> Path | None:
    """The file of a SQLite store; None for a store of another kind."""
    scheme, _, path = os.environ["MLFLOW_TRACKING_URI"].partition(":///")
    return Path(path).resolve() if scheme == "sqlite" else None


@cache
def code_state(*paths: str) -> dict[str, str]:
    """Commit of the checkout, and whether what lies below `paths`, or else code or configuration, differs from it.

    An unpacked archive has none, also where it lies inside another repository, or git is not there.
    """

    def git(*words: str) -> str:
        command = ["git", f"--git-dir={ROOT / '.git'}", f"--work-tree={ROOT}", *words]
        with suppress(OSError):  # no git
            return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()
        return ""

    commit, changes = git("rev-parse", "--short=10", "HEAD"), git("status", "--porcelain", "--", *(paths or CODE))
    return {"commit": commit or "no-commit", "dirty": str(bool(changes)).lower()}


def flattened(values: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Keys and values of nested mappings, an inner key with its outer one and a dot before it."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from flattened(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def line(error: object) -> str:
    """An error of the store as part of a line: not long, and without what is secret of MLFLOW_TRACKING_URI, as it
    stands there or decoded."""
    text = str(error)
    user, query = r"//(?:[^/@:]*:)?([^/]*)@", "[?&]password=([^&]*)"  # a user's name alone may be a token
    for secret in filter(None, chain(*re.findall(f"{user}|{query}", os.environ["MLFLOW_TRACKING_URI"]))):
        text = text.replace(secret, "***").replace(unquote(secret), "***")
    return " ".join(text.split())[:300]
