"""Brings MLflow's store in line with the results of a checkout: runs, grids and models."""

import hashlib
import math
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import mlflow
import pandas as pd
from mlflow import MlflowClient
from mlflow.entities import LoggedModelStatus, Run
from mlflow.exceptions import MlflowException
from mlflow.models import Model
from mlflow.utils.file_utils import local_file_uri_to_path
from omegaconf import OmegaConf

from pipeline.commands import models, served
from pipeline.commands.results import BROWN, Result
from pipeline.config.base import ROOT
from pipeline.data.corpus import read_corpus
from pipeline.data.files import write_json
from pipeline.data.record import FILE
from pipeline.data.weights import WEIGHTS
from pipeline.running import paper, tracking
from pipeline.running.recorded import FILES, experiment_name
from pipeline.running.sweep import BEST, FIGURES

os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")
os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")  # one for each model's files

OUTPUT = "nplm.output"  # tag: the digest of the folder, or of the grid's table, that a run shows
ROUNDED = 0.006  # a grid's table has two decimals
MODEL, ALIAS = "nplm", "best"


class _Run(tracking.Run):
    """A run whose publisher wants to know of every fault of the store; files that it does not take are a warning."""

    def tolerate(self, call: Callable[[MlflowClient], None]) -> None:
        """Makes a call of the store."""
        call(self.client)


class Publisher:
    """One store and one checkout."""

    def __init__(self, root: Path):
        self.root = root
        self.notes: dict[str, dict[str, str]] = {}  # by table
        self.code = tracking.code_state()
        self.client = tracking.open_client()
        self._experiments: dict[Path, str] = {}
        mlflow.set_tracking_uri(self.client.tracking_uri)

    def experiment(self, data: Path) -> str:
        """The id of the experiment of a corpus, in which no run of a dead process stays open."""
        if data not in self._experiments:
            self._experiments[data] = tracking.experiment_of(self.client, experiment_name(data))
            tracking.close_dead(self.client, self._experiments[data])
        return self._experiments[data]

    def publish(self, result: Result) -> Run:
        """The run of a result: found by its tag, else one that the stage logged, else a new one."""
        experiment = self.experiment(result.data)
        for run in self._search(experiment, {OUTPUT: result.digest, "model": result.run.name}):
            if run.info.status == "FINISHED":
                return run
            self.client.delete_run(run.info.run_id)  # a publish that was killed had begun it
        logged = self._search(experiment, tracking.tags_of(result.run))
        same = (run for run in logged if run.info.status == "FINISHED" and _shows(run, result))
        return self._complete(next(same, None) or self._create(result), result)

    def publish_grid(self, table: Path) -> None:
        """A grid of conf/search by its table: the run of the multirun that wrote it, else one with its jobs below."""
        asked = self.root / "conf" / "search" / f"{table.stem.removeprefix('search-')}.yaml"
        data = OmegaConf.load(asked).get("data") if asked.is_file() else None
        experiment = self.experiment(self.root / (data or f"data/{BROWN}"))
        jobs, digest = pd.read_csv(table, dtype=str), hashlib.sha256(table.read_bytes()).hexdigest()
        found = self._search(experiment, {OUTPUT: digest})
        if any(run.info.status == "FINISHED" for run in found):
            return
        for run in found:  # a publish that was killed had begun it
            for begun in (*self._search(experiment, {tracking.PARENT: run.info.run_id}), run):
                self.client.delete_run(begun.info.run_id)
        figures = {"jobs": len(jobs), BEST: jobs["valid"].astype(float).min()}
        same = (run for run in self._search(experiment, {"stage": "sweep"}) if _wrote(run, table, figures))
        if run := next(same, None):
            self.client.set_tag(run.info.run_id, OUTPUT, digest)
        else:
            self._create_grid(experiment, table, jobs, figures, digest)

    def _create_grid(
        self, experiment: str, table: Path, jobs: pd.DataFrame, figures: dict[str, float], digest: str
    ) -> None:
        tags = {"stage": "sweep", OUTPUT: digest}
        parent = self.client.create_run(experiment, run_name=table.stem, tags=tags).info.run_id
        for job in jobs.to_dict("records"):
            called, tags = f"{table.stem} {job.pop('job')}", {"stage": "train", tracking.PARENT: parent}
            run = self.client.create_run(experiment, run_name=called, tags=tags).info.run_id
            found = {key: float(job.pop(key)) for key in FIGURES}
            metrics = [(key, value, 0) for key, value in found.items() if not math.isnan(value)]
            tracking.log_batch(self.client, run, metrics, [(key.lstrip("+"), value) for key, value in job.items()])
            self.client.set_terminated(run)
        tracking.log_batch(self.client, parent, [(key, value, 0) for key, value in figures.items()], [])
        _Run(self.client, parent).files(table, table.with_suffix(".svg"))
        self.client.set_terminated(parent)

    def _search(self, experiment: str, tags: dict[str, str]) -> list[Run]:
        condition = " and ".join(f"tags.`{key}` = '{value}'" for key, value in tags.items())
        return list(self.client.search_runs([experiment], condition))

    def _create(self, result: Result) -> Run:
        made = result.run
        experiment = self.experiment(result.data)
        parent = tracking.group_run(self.client, experiment, self.code, made.data)
        tags = tracking.tags_of(made) | {"mlflow.source.name": f"pipeline.{made.stage}"}
        tags |= {tracking.PARENT: parent, OUTPUT: result.digest}
        run = self.client.create_run(experiment, run_name=f"{made.name}-{made.seed}", tags=tags)
        logged = _Run(self.client, run.info.run_id)
        logged.parameters(tracking.parameters_of(made))
        logged.metrics(result.figures)
        logged.cost(result.timing)
        for line in result.curve:
            logged.metrics({key: value for key, value in line.items() if key != "epoch"}, step=int(line["epoch"]))
        logged.reads(result.data, made.data)
        logged.files(*(result.folder / name for name in FILES))
        return run

    def _complete(self, run: Run, result: Result) -> Run:
        if result.table not in self.notes:
            self.notes[result.table] = paper.notes(result.table, self.root)
        _Run(self.client, run.info.run_id).note(self.notes[result.table].get(result.run.name, ""))
        # Last: what a killed publish left undone is done again.
        if run.info.status == "FINISHED":  # by its stage
            self.client.set_tag(run.info.run_id, OUTPUT, result.digest)
        else:
            self.client.set_terminated(run.info.run_id)
        return run

    def logged(self, result: Result) -> str:
        """The id of a result's model in the store, "" where it, or the folder with its files, is not there. One that
        is not ready was begun by a publish that was killed: it is removed."""
        condition = f"tags.`{OUTPUT}` = '{result.digest}'"
        logged = self.client.search_logged_models([self.experiment(result.data)], filter_string=condition)
        for model in logged:
            if model.status != LoggedModelStatus.READY:
                self.client.delete_logged_model(model.model_id)
        ready = (model for model in logged if model.status == LoggedModelStatus.READY)
        return next((model.model_id for model in ready if _has_files(model.artifact_location)), "")

    def log_model(self, name: str, result: Result, run: Run) -> str:
        """Logs a result's model in its run; its id."""
        mlflow.set_experiment(experiment_id=self.experiment(result.data))
        with tempfile.TemporaryDirectory() as folder:
            made = Model.log(  # mlflow.pyfunc.log_model would open the run again, and its time would grow
                artifact_path=None,
                flavor=mlflow.pyfunc,
                run_id=run.info.run_id,
                name=name,
                python_model=served.__file__,
                artifacts={"model": str(self._packed(result, Path(folder, "model")))},
                code_paths=[str(ROOT / "pipeline")],
                signature=served.SIGNATURE,
                input_example=served.EXAMPLE,
                pip_requirements=str(ROOT / "requirements.txt"),
                tags={OUTPUT: result.digest},
            )
        return made.model_id

    def _packed(self, result: Result, folder: Path) -> Path:
        """All that the model needs, in one folder."""
        shutil.copytree(result.data, folder / "data")
        name = f"{result.run.name}/{result.run.seed}"
        places = [result.folder.parents[1], *sorted((self.root / "predictions").iterdir())]
        for part, source in models.folders(name, read_corpus(result.data), places).items():
            target = folder / "predictions" / part
            target.mkdir(parents=True)
            for file in (FILE, "metrics.json", "weights.json", WEIGHTS):
                if (source / file).is_file():
                    shutil.copyfile(source / file, target / file)
        clusters = self.root / "clusters" / result.data.name
        if clusters.is_dir() and result.run.stage != "train":
            shutil.copytree(clusters, folder / "clusters")
        write_json(folder / "name.json", {"name": name})
        return folder

    def register(self, model_id: str) -> str:
        """The model becomes a version of `nplm`, if it is not yet, and gets the alias; the version."""
        source = f"models:/{model_id}"
        try:
            self.client.create_registered_model(MODEL)
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
        same = [found for found in self.client.search_model_versions(f"name = '{MODEL}'") if found.source == source]
        version = same[0] if same else self.client.create_model_version(MODEL, source, model_id=model_id)
        self.client.set_registered_model_alias(MODEL, ALIAS, version.version)
        return str(version.version)


def _has_files(place: str) -> bool:
    """Whether a place of artifacts is there, as far as this machine can see."""
    return not place.startswith(("file:", "/")) or Path(local_file_uri_to_path(place)).is_dir()


def _wrote(run: Run, table: Path, figures: dict[str, float]) -> bool:
    """Whether a multirun's run is of the grid whose table it is, with these figures."""
    grid = f"+search={table.stem.removeprefix('search-')}"
    done = run.info.status == "FINISHED" and grid in run.data.params.get("overrides", "").split()
    return done and all(abs(run.data.metrics.get(key, math.inf) - value) < ROUNDED for key, value in figures.items())


def _shows(run: Run, result: Result) -> bool:
    """Whether a stage's run says what the result does; of what only one of them has, nothing."""
    figures, parameters = run.data.metrics, run.data.params
    return all(
        math.isclose(figures.get(key, value), value, rel_tol=1e-9) for key, value in result.figures.items()
    ) and all(parameters.get(key, value) == value for key, value in tracking.parameters_of(result.run).items())
