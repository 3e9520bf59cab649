"""Brings MLflow's store in line with the results of a checkout: runs, grids and models."""

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mlflow
import pandas as pd
from mlflow.entities import LoggedModelStatus
from mlflow.exceptions import MlflowException
from mlflow.utils.file_utils import local_file_uri_to_path
from omegaconf import OmegaConf
from sqlalchemy.exc import SQLAlchemyError
from tqdm import tqdm

from pipeline.config import groups
from pipeline.config.base import ROOT
from pipeline.core.common.errors import InputError
from pipeline.data import record as records
from pipeline.data.corpus import read_corpus
from pipeline.data.files import read_json
from pipeline.data.predictions import read_metrics
from pipeline.models import by_name, served
from pipeline.running import backlog, sweep, tracking
from pipeline.running.paper import table_of

os.environ |= {"MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true", "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false"}

STORE_ERRORS = (MlflowException, SQLAlchemyError, OSError, ImportError)
FOLDERS = ("predictions", "clusters", "features")  # of a checkout, with results
BROWN = "brown"  # the corpus
BEST_NGRAM = "best-ngram"
MODEL = "nplm"  # the registered model
ALIAS = "best"
PACKAGE = "nplm_pipeline"  # the package of the code in a model: where it is loaded, another `pipeline` may exist


def publish(root: Path, names: list[str] | None) -> None:
    """Publishes all runs and grids of a checkout, and the models of these names; all models with None."""
    publisher = Publisher(root)
    folders = publisher.servable()
    selection = folders if names is None else dict.fromkeys(names)
    if unknown := [name for name in selection if name not in folders]:
        raise InputError(f"--models: {', '.join(unknown)} can't be served; there are: {', '.join(folders) or 'none'}")
    runs = {folder: publisher.run_of(folder) for folder in tqdm(publisher.records, desc="runs", disable=None)}
    grids = sorted((root / "reports" / "searches").glob("*.csv"))
    for table in grids:
        publisher.publish_grid(table)
    print(f"{len(runs)} runs and {len(grids)} grids in MLflow")
    ids = {name: publisher.logged_model(folder) for name, folder in folders.items()}
    for name in tqdm([name for name in selection if not ids[name]], desc="models", disable=None):
        ids[name] = publisher.log_model(name, folders[name], runs[folders[name]])
    if logged := [name for name in ids if ids[name]]:
        best = min(logged, key=lambda name: read_metrics(folders[name])["valid_corrected"])
        version = publisher.register(ids[best])
        print(f"{len(logged)} models; the best of them by validation, {best}, is {MODEL}@{ALIAS}, version {version}")


class Publisher:
    """The results of a checkout, and MLflow's store."""

    def __init__(self, root: Path):
        files = sorted(file for name in FOLDERS for file in (root / name).rglob(records.FILE))
        self.records = {file.parent: records.read(file.parent) for file in files}
        if not files:
            raise InputError(f"{root}: no results of the pipeline to publish; run `make repro`")
        corpora = {read_json(file).get("digest"): file.parent for file in sorted(root.glob("data/*/counts.json"))}
        for folder, record in self.records.items():
            if record.data not in corpora:
                raise InputError(
                    f"{folder} was made from a corpus that is not in {root / 'data'}: run `dvc checkout`, or the stage "
                    "preprocess of its dvc.yaml"
                )
        self.data = {folder: corpora[record.data] for folder, record in self.records.items()}  # corpus by result
        self.timings = {file: read_json(file) for file in sorted(root.glob("timings/*/*.json"))}
        self.root = root
        self.client = tracking.open_store()

    def servable(self) -> dict[str, Path]:
        """The folders of the results that become models, by the model's name: of Brown, networks with seed 0 and the
        best n-gram; models of other corpora are too large. Outside Table 1 the name ends in the table's name if it
        must."""
        folders = {}
        for folder in sorted(self.records, key=lambda folder: table_of(folder) != "table1"):
            record = self.records[folder]
            is_network = record.stage == "train" and record.seed == 0
            if self.data[folder].name == BROWN and (is_network or record.name == BEST_NGRAM):
                name = record.name if record.name not in folders else f"{record.name}-{table_of(folder)}"
                folders[name] = folder
        return folders

    def run_of(self, folder: Path) -> str:
        """The id of a result's run. The run is logged if the store does not have it."""
        return backlog.find_or_log(self.client, folder, data=self.data[folder], timing=self.timing(folder))

    def timing(self, folder: Path) -> dict[str, Any]:
        """The file of times of a result; empty if it is gone, since neither git nor DVC keeps it."""
        record = self.records[folder]
        result = {"stage": record.stage, "name": record.name, "seed": record.seed, "data": record.data}
        files = sorted(self.timings, key=lambda file: file.parent.name != table_of(folder))  # its table's first
        return next((self.timings[file] for file in files if result.items() <= self.timings[file].items()), {})

    def publish_grid(self, table: Path) -> None:
        """Logs a grid of conf/searches.yaml from its table, as a run with its jobs below, unless the multirun logged
        it. Its experiment holds committed grids alone, so that the runs of the user stand apart."""
        searches = self.root / "conf" / groups.LISTED["search"]
        search = OmegaConf.load(searches).get(table.stem) if searches.is_file() else None
        data = self.root / ((search or {}).get("data") or f"data/{BROWN}")
        experiments = [experiment.experiment_id for experiment in self.client.search_experiments()]
        complete = f"tags.`{tracking.OUTPUT}` = '{sweep.digest(table)}' and status = 'FINISHED'"
        if self.client.search_runs(experiments, complete):
            return
        jobs = pd.read_csv(table, dtype=str)
        experiment = tracking.open_experiment(self.client, data, tracking.SEARCHES)
        parent = tracking.create(self.client, experiment, name=f"search {table.stem}", tags={"stage": "sweep"})
        for job in jobs.to_dict("records"):
            name = f"{table.stem} {job.pop('job')}"
            tags = {"stage": "train", tracking.PARENT: parent}
            with mlflow.start_run(tracking.create(self.client, experiment, name=name, tags=tags)):
                perplexities = {key: float(job.pop(key)) for key in sweep.SHOWN if key in job}
                mlflow.log_metrics({key: value for key, value in perplexities.items() if value == value})  # not NaN
                mlflow.log_params({key.lstrip("+"): value for key, value in job.items()})
        with mlflow.start_run(parent):
            sweep.log(parent, file=table, table=jobs, output=sweep.digest(table))

    def logged_model(self, folder: Path) -> str:
        """The id of a result's model in the store; "" if it has none. A model without files, or of a killed publish, is
        removed."""
        experiment = tracking.open_experiment(self.client, self.data[folder])
        condition = f"tags.`{tracking.OUTPUT}` = '{tracking.digest(folder)}'"
        for model in self.client.search_logged_models([experiment], filter_string=condition):
            location = model.artifact_location
            lost = location.startswith(("file:", "/")) and not Path(local_file_uri_to_path(location)).is_dir()
            if model.status == LoggedModelStatus.READY and not lost:
                return model.model_id
            self.client.delete_logged_model(model.model_id)
        return ""

    def log_model(self, name: str, folder: Path, run: str) -> str:
        """Logs a result's model in its run. Returns the id of the model."""
        end_time = self.client.get_run(run).info.end_time
        with tempfile.TemporaryDirectory() as temporary, _renamed(Path(temporary)) as code, mlflow.start_run(run):
            model = mlflow.pyfunc.log_model(
                name=name,
                python_model=str(code / "models" / "served.py"),
                artifacts={"model": str(self._packed(folder, Path(temporary, "model")))},
                model_config={"name": f"{self.records[folder].name}/{self.records[folder].seed}"},
                code_paths=[str(code)],
                signature=served.SIGNATURE,
                input_example=served.EXAMPLE,
                pip_requirements=str(ROOT / "requirements.txt"),
                tags={tracking.OUTPUT: tracking.digest(folder)},
            )
        self.client.set_terminated(run, end_time=end_time)  # the earlier end: the run did not take longer
        return model.model_id

    def _packed(self, folder: Path, target: Path) -> Path:
        """Copies all files that a model needs into the folder `target`; see by_name.folders."""
        record = self.records[folder]
        data = self.data[folder]
        tables = [folder.parents[1], *sorted((self.root / "predictions").iterdir())]
        shutil.copytree(data, target / "data")
        for name, source in by_name.folders(f"{record.name}/{record.seed}", read_corpus(data), tables).items():
            shutil.copytree(source, target / "predictions" / name, ignore=shutil.ignore_patterns("*.npy"))
        if (clusters := self.root / "clusters" / data.name).is_dir() and record.stage != "train":
            shutil.copytree(clusters, target / "clusters")
        return target

    def register(self, model_id: str) -> str:
        """Registers the model as a version of `nplm`, unless it is one, and gives it the alias. Returns the version."""
        source = f"models:/{model_id}"
        versions = self.client.search_model_versions(f"name = '{MODEL}'")
        versions_of_model = [version for version in versions if version.source == source]
        version = (versions_of_model or [mlflow.register_model(source, MODEL)])[0].version
        self.client.set_registered_model_alias(MODEL, ALIAS, version)
        return version


@contextmanager
def _renamed(folder: Path) -> Iterator[Path]:
    """A copy of the package `pipeline` under another name. MLflow imports it inside the block."""
    target = folder / PACKAGE
    shutil.copytree(ROOT / "pipeline", target, ignore=shutil.ignore_patterns("__pycache__"))
    for file in target.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        file.write_text(re.sub(r"\bpipeline(?=\.|\s+import\b)", PACKAGE, text), encoding="utf-8")
    sys.path.insert(0, str(folder))
    try:
        yield target
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
            del sys.modules[name]
