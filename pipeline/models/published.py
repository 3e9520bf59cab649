"""Brings MLflow's store in line with the results of a checkout: runs, grids and models."""

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import mlflow
import pandas as pd
from mlflow.entities import LoggedModelStatus, Run
from mlflow.exceptions import MlflowException
from mlflow.utils.file_utils import local_file_uri_to_path
from omegaconf import OmegaConf
from sqlalchemy.exc import SQLAlchemyError
from tqdm import tqdm

from pipeline.config import groups
from pipeline.config.base import ROOT
from pipeline.core.common.errors import InputError
from pipeline.data import record
from pipeline.data.corpus import read_corpus
from pipeline.data.files import read_json
from pipeline.models import by_name, served
from pipeline.running import sweep, tracking
from pipeline.running.paper import table_of

os.environ |= {"MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true", "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false"}

STORE_ERRORS = (MlflowException, SQLAlchemyError, OSError, ImportError)
FOLDERS = ("predictions", "clusters", "features")  # of results, below a checkout
BROWN, BEST_NGRAM = "brown", "best-ngram"
MODEL, ALIAS = "nplm", "best"
PACKAGE = "nplm_pipeline"  # the code within a model: whoever loads it may have a pipeline.py


def publish(root: Path, names: list[str] | None) -> None:
    """All runs and grids of a checkout, and the models of these names, or all."""
    publisher = Publisher(root)
    folders = publisher.servable()
    chosen = folders if names is None else dict.fromkeys(names)
    if unknown := [name for name in chosen if name not in folders]:
        raise InputError(f"--models: {', '.join(unknown)} can't be served; there are: {', '.join(folders) or 'none'}")
    runs = {folder: publisher.run_of(folder) for folder in tqdm(publisher.made, desc="runs", disable=None)}
    grids = sorted((root / "reports" / "searches").glob("*.csv"))
    for table in grids:
        publisher.publish_grid(table)
    print(f"{len(runs)} runs and {len(grids)} grids in MLflow")
    ids = {name: publisher.logged_model(folder) for name, folder in folders.items()}
    for name in tqdm([name for name in chosen if not ids[name]], desc="models", disable=None):
        ids[name] = publisher.log_model(name, folders[name], runs[folders[name]])
    if there := [name for name in ids if ids[name]]:
        best = min(there, key=lambda name: read_json(folders[name] / "metrics.json")["valid"])
        version = publisher.register(ids[best])
        print(f"{len(there)} models; the best of them by validation, {best}, is {MODEL}@{ALIAS}, version {version}")


class Publisher:
    """The results of a checkout, and the store."""

    def __init__(self, root: Path):
        files = sorted(file for name in FOLDERS for file in (root / name).rglob(record.FILE))
        self.made = {file.parent: record.read(file.parent) for file in files}
        if not files:
            raise InputError(f"{root}: no results of the pipeline to publish; run `make repro`")
        corpora = {read_json(file).get("digest"): file.parent for file in sorted(root.glob("data/*/counts.json"))}
        for folder, made in self.made.items():
            if made.data not in corpora:
                raise InputError(
                    f"{folder} was made from a corpus that is not in {root / 'data'}: run `dvc checkout`, or the stage "
                    "preprocess of its dvc.yaml"
                )
        self.data = {folder: corpora[made.data] for folder, made in self.made.items()}  # the corpus of a result
        self.timings = {file: read_json(file) for file in sorted(root.glob("timings/*/*.json"))}
        self.root, self.client = root, tracking.open_store()

    def servable(self) -> dict[str, Path]:
        """The folders of what becomes a model, by its name: networks' first seed and the best n-gram. Table 1's keep
        their name, others get their table's too. Other corpora's are too large."""
        folders = {}
        for folder in sorted(self.made, key=lambda folder: table_of(folder) != "table1"):
            made = self.made[folder]
            network = made.stage == "train" and made.seed == 0
            if self.data[folder].name == BROWN and (network or made.name == BEST_NGRAM):
                folders[made.name if made.name not in folders else f"{made.name}-{table_of(folder)}"] = folder
        return folders

    def run_of(self, folder: Path) -> str:
        """The id of a result's run, which is logged if it is not there."""
        made, data = self.made[folder], self.data[folder]
        for run in self._complete(data, tracking.digest(folder)):
            return run.info.run_id
        source = {"mlflow.source.name": f"pipeline.{made.stage}"}  # and no commit: another machine may have made it
        with mlflow.start_run(tracking.begin(made, data, source)) as run:
            tracking.log(folder, data, self.cost(folder))
        return run.info.run_id

    def _complete(self, data: Path, output: str) -> list[Run]:
        """The runs that show the files of this digest."""
        experiment = tracking.open_experiment(self.client, data)
        return self.client.search_runs([experiment], f"tags.`{tracking.OUTPUT}` = '{output}' and status = 'FINISHED'")

    def cost(self, folder: Path) -> dict[str, float]:
        """What the stage of a result took, where its file is still there: neither git nor DVC keeps it."""
        made = self.made[folder]
        result = {"stage": made.stage, "name": made.name, "seed": made.seed, "data": made.data}
        of_table = sorted(self.timings, key=lambda file: file.parent.name != table_of(folder))
        timing = next((self.timings[file] for file in of_table if result.items() <= self.timings[file].items()), {})
        measured = timing.keys() - {*result, "cores"}
        return {key: timing[key] for key in timing if key in measured and isinstance(timing[key], int | float)}

    def publish_grid(self, table: Path) -> None:
        """A grid of conf/searches.yaml by its table: a run with its jobs below, if the multirun's own is not there."""
        searches = self.root / "conf" / groups.LISTED["search"]
        asked = OmegaConf.load(searches).get(table.stem) if searches.is_file() else None
        data = self.root / ((asked or {}).get("data") or f"data/{BROWN}")
        if self._complete(data, sweep.digest(table)):
            return
        jobs, experiment = pd.read_csv(table, dtype=str), tracking.open_experiment(self.client, data)
        parent = tracking.create(self.client, experiment, f"search {table.stem}", {"stage": "sweep"})
        for job in jobs.to_dict("records"):
            name, tags = f"{table.stem} {job.pop('job')}", {"stage": "train", tracking.PARENT: parent}
            with mlflow.start_run(tracking.create(self.client, experiment, name, tags)):
                perplexities = {key: float(job.pop(key)) for key in sweep.SHOWN if key in job}
                mlflow.log_metrics({key: value for key, value in perplexities.items() if value == value})  # not NaN
                mlflow.log_params({key.lstrip("+"): value for key, value in job.items()})
        with mlflow.start_run(parent):
            sweep.log(parent, table, jobs, sweep.digest(table))

    def logged_model(self, folder: Path) -> str:
        """The id of a result's model in the store, "" for none. One whose files are gone, or that a killed publish has
        begun, is removed."""
        experiment = tracking.open_experiment(self.client, self.data[folder])
        condition = f"tags.`{tracking.OUTPUT}` = '{tracking.digest(folder)}'"
        for model in self.client.search_logged_models([experiment], filter_string=condition):
            place = model.artifact_location
            lost = place.startswith(("file:", "/")) and not Path(local_file_uri_to_path(place)).is_dir()
            if model.status == LoggedModelStatus.READY and not lost:
                return model.model_id
            self.client.delete_logged_model(model.model_id)
        return ""

    def log_model(self, name: str, folder: Path, run: str) -> str:
        """Logs a result's model in its run; its id."""
        ended = self.client.get_run(run).info.end_time
        with tempfile.TemporaryDirectory() as temporary, _renamed(Path(temporary)) as code, mlflow.start_run(run):
            logged = mlflow.pyfunc.log_model(
                name=name,
                python_model=str(code / "models" / "served.py"),
                artifacts={"model": str(self._packed(folder, Path(temporary, "model")))},
                model_config={"name": f"{self.made[folder].name}/{self.made[folder].seed}"},
                code_paths=[str(code)],
                signature=served.SIGNATURE,
                input_example=served.EXAMPLE,
                pip_requirements=str(ROOT / "requirements.txt"),
                tags={tracking.OUTPUT: tracking.digest(folder)},
            )
        self.client.set_terminated(run, end_time=ended)  # or its time would grow
        return logged.model_id

    def _packed(self, folder: Path, target: Path) -> Path:
        """All that a model needs, in one folder; see by_name.folders."""
        made, data = self.made[folder], self.data[folder]
        tables = [folder.parents[1], *sorted((self.root / "predictions").iterdir())]
        shutil.copytree(data, target / "data")
        for part, source in by_name.folders(f"{made.name}/{made.seed}", read_corpus(data), tables).items():
            shutil.copytree(source, target / "predictions" / part, ignore=shutil.ignore_patterns("*.npy"))
        if (clusters := self.root / "clusters" / data.name).is_dir() and made.stage != "train":
            shutil.copytree(clusters, target / "clusters")
        return target

    def register(self, model_id: str) -> str:
        """The model becomes a version of `nplm`, if it is not yet, and gets the alias; the version."""
        source, versions = f"models:/{model_id}", self.client.search_model_versions(f"name = '{MODEL}'")
        same = [version for version in versions if version.source == source]
        version = (same or [mlflow.register_model(source, MODEL)])[0].version
        self.client.set_registered_model_alias(MODEL, ALIAS, version)
        return version


@contextmanager
def _renamed(folder: Path) -> Iterator[Path]:
    """A copy of the package `pipeline` under another name, which can be imported inside the block: MLflow does."""
    target = folder / PACKAGE
    shutil.copytree(ROOT / "pipeline", target, ignore=shutil.ignore_patterns("__pycache__"))
    for file in target.rglob("*.py"):
        text = file.read_text(encoding="utf-8") or "# a package\n"  # MLflow leaves empty files out
        file.write_text(re.sub(r"\bpipeline(?=\.|\s+import\b)", PACKAGE, text), encoding="utf-8")
    sys.path.insert(0, str(folder))
    try:
        yield target
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
            del sys.modules[name]
