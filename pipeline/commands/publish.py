"""`make publish`: the tracking store as the stages' outputs say it should be.

Each output of a stage that logs runs is a run, whether it was computed here or restored by DVC, with what the stage
itself logs (pipeline/outputs.py), the paper's row as a note, and the corpus as a data set. A run that the stage has
logged is completed, not logged again. A grid whose table lies in reports is a run with one for each job below it. Of
Brown's models, networks with seed 0 and the best n-gram become models that
`mlflow models serve` serves; the best by validation is registered as `nplm`, alias `best`. To repeat it changes
nothing. A second publish of one checkout waits for the first; two machines that publish into one server at a time know
nothing of each other.
"""

import argparse
import hashlib
import math
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import mlflow
import pandas as pd
from filelock import FileLock, Timeout
from mlflow.entities import Dataset, DatasetInput, InputTag, LoggedModelStatus, Metric, Param, Run
from mlflow.exceptions import MlflowException
from mlflow.models import Model
from mlflow.utils.time import get_current_time_millis
from omegaconf import OmegaConf
from tqdm import tqdm

from pipeline.commands import models
from pipeline.commands.served import EXAMPLE, SIGNATURE
from pipeline.data.errors import InputError
from pipeline.data.files import read_json, write_json
from pipeline.running import tracking
from pipeline.running.app import ROOT, exit_code
from pipeline.running.outputs import BROWN, Output, digest, outputs
from pipeline.running.sweep import FIGURES

os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")
os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")  # one for each model's files

OUTPUT = "nplm.output"  # tag: the md5, DVC's own, of the output that a run shows
ROUNDED = 0.006  # a grid's table has two decimals
MODEL, ALIAS = "nplm", "best"


def paper_rows(root: Path) -> dict[tuple[bool, str], str]:
    """By whether it is of the paper's corpus, Brown, and by our model's name: its row of the paper and its figures."""
    rows = {}
    for file in sorted((root / "conf" / "table").glob("*.yaml")):
        table = OmegaConf.load(file)
        for row in table.rows:
            figures = ", ".join(f"{split} {value:g}" for split, value in row.get("paper", {}).items())
            whose = "The paper's perplexity" + ", on another corpus" * (not table.same_corpus)
            said = f"{whose}: {figures}." if figures else "The paper prints no figure."
            rows[table.same_corpus, row.name] = f"{row.row}. {said}"
    return rows


class Publisher:
    """Brings a store in line with outputs."""

    def __init__(self, root: Path, corpora: set[Path]):
        self.root = root
        self.digests = {data: digest(root, data) for data in corpora}
        self.notes = paper_rows(root)
        self.code = tracking.code_state()
        self.client = tracking.open_client()
        self.experiment = tracking.experiment_of(self.client)
        mlflow.set_tracking_uri(self.client.tracking_uri)
        mlflow.set_experiment(experiment_id=self.experiment)

    def publish(self, output: Output) -> Run:
        """The run of an output: found by its tag, else one that the stage logged, else a new one."""
        for run in self._search({OUTPUT: output.md5, "model": output.model}):
            if run.info.status == "FINISHED":
                return run
            self.client.delete_run(run.info.run_id)  # a publish that was killed had begun it
        logged = self._search(self._tags(output))
        same = (run for run in logged if run.info.status == "FINISHED" and _shows(run, output))
        return self._complete(next(same, None) or self._create(output), output)

    def publish_grid(self, table: Path) -> None:
        """A grid of conf/search by its table: the run of the multirun that wrote it, else one with its jobs below."""
        jobs, md5 = pd.read_csv(table, dtype=str), hashlib.md5(table.read_bytes()).hexdigest()
        found = self._search({OUTPUT: md5})
        if any(run.info.status == "FINISHED" for run in found):
            return
        for run in found:  # a publish that was killed had begun it
            for begun in (*self._search({tracking.PARENT: run.info.run_id}), run):
                self.client.delete_run(begun.info.run_id)
        figures = {"jobs": len(jobs), "best_valid_perplexity": jobs["valid"].astype(float).min()}
        same = (run for run in self._search({"stage": "sweep"}) if _wrote(run, table, figures))
        if run := next(same, None):
            self.client.set_tag(run.info.run_id, OUTPUT, md5)
        else:
            self._create_grid(table.stem, jobs, figures, md5)

    def _create_grid(self, name: str, jobs: pd.DataFrame, figures: dict[str, float], md5: str) -> None:
        tags = {"stage": "sweep", OUTPUT: md5}
        parent = self.client.create_run(self.experiment, run_name=name, tags=tags).info.run_id
        for job in jobs.to_dict("records"):
            called, tags = f"{name} {job.pop('job')}", {"stage": "train", tracking.PARENT: parent}
            run = self.client.create_run(self.experiment, run_name=called, tags=tags).info.run_id
            now, found = get_current_time_millis(), {key: float(job.pop(key)) for key in FIGURES}
            metrics = [Metric(key, value, now, 0) for key, value in found.items() if not math.isnan(value)]
            parameters = [Param(key.lstrip("+"), value) for key, value in job.items()]
            self.client.log_batch(run, metrics=metrics, params=parameters)
            self.client.set_terminated(run)
        for key, value in figures.items():
            self.client.log_metric(parent, key, value)
        self.client.set_terminated(parent)

    def _search(self, tags: dict[str, object]) -> list[Run]:
        condition = " and ".join(f"tags.`{key}` = '{value}'" for key, value in tags.items())
        return list(self.client.search_runs([self.experiment], condition))

    def _tags(self, output: Output) -> dict[str, str]:
        tags = {"stage": output.stage, "model": output.model, "seed": output.seed, "data": self.digests[output.data]}
        return tracking.strings(tags)

    def _create(self, output: Output) -> Run:
        parent = tracking.group_run(self.client, self.code, self.digests[output.data])
        tags = self._tags(output) | {tracking.PARENT: parent, OUTPUT: output.md5}
        run = self.client.create_run(self.experiment, run_name=f"{output.model}-{output.seed}", tags=tags)
        now = get_current_time_millis()
        metrics = [Metric(key, float(value), now, 0) for key, value in (output.figures | output.timing).items()]
        for line in output.curve:
            epoch = int(line.pop("epoch"))
            metrics += [Metric(key, float(value), now, epoch) for key, value in line.items()]
        parameters = [Param(key, value) for key, value in _parameters(output).items()]
        self.client.log_batch(run.info.run_id, metrics=metrics, params=parameters)
        return run

    def _complete(self, run: Run, output: Output) -> Run:
        data = Dataset(
            name=output.data.name,
            digest=self.digests[output.data][:36],  # as long as MLflow takes it; the tag `data` has all of it
            source_type="local",
            source=str(output.data),
        )
        self.client.log_inputs(run.info.run_id, [DatasetInput(data, [InputTag("mlflow.data.context", "training")])])
        note = self.notes.get((output.data.name == BROWN, output.model))
        if note:
            self.client.set_tag(run.info.run_id, "mlflow.note.content", note)
        # Last: what a killed publish left undone is done again.
        if run.info.status == "FINISHED":  # by its stage
            self.client.set_tag(run.info.run_id, OUTPUT, output.md5)
        else:
            self.client.set_terminated(run.info.run_id)
        return run

    def logged(self, output: Output) -> str:
        """The id of an output's model in the store, "" where it is not there."""
        logged = self.client.search_logged_models([self.experiment], filter_string=f"tags.`{OUTPUT}` = '{output.md5}'")
        return next((model.model_id for model in logged if model.status == LoggedModelStatus.READY), "")

    def log_model(self, run: Run, output: Output) -> str:
        """Logs an output's model in its run; its id."""
        with tempfile.TemporaryDirectory() as folder:
            made = Model.log(  # mlflow.pyfunc.log_model would open the run again, and its time would grow
                artifact_path=None,
                flavor=mlflow.pyfunc,
                run_id=run.info.run_id,
                name=output.model,
                python_model=str(ROOT / "pipeline" / "served.py"),
                artifacts={"model": str(self._packed(output, Path(folder, "model")))},
                code_paths=[str(ROOT / "pipeline"), str(ROOT / "conf")],
                signature=SIGNATURE,
                input_example=EXAMPLE,
                pip_requirements=str(ROOT / "requirements.txt"),
                tags={OUTPUT: output.md5},
            )
        return made.model_id

    def _packed(self, output: Output, folder: Path) -> Path:
        """All that the model needs, in one folder."""
        shutil.copytree(output.data, folder / "data")
        name = f"{output.model}/{output.seed}"
        for part in (name, *_components(output.folder)):
            source, target = self.root / "predictions" / part, folder / "predictions" / part
            target.mkdir(parents=True)
            for file in ("metrics.json", "weights.json", "weights.safetensors"):
                if (source / file).is_file():
                    shutil.copyfile(source / file, target / file)
        if (self.root / "clusters").is_dir() and not (output.folder / "weights.safetensors").is_file():
            shutil.copytree(self.root / "clusters", folder / "clusters")
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


def _parameters(output: Output) -> dict[str, str]:
    return tracking.strings(dict(tracking.flattened(output.parameters)))


def _wrote(run: Run, table: Path, figures: dict[str, float]) -> bool:
    """Whether a multirun's run is of the grid whose table it is, with these figures."""
    grid = f"+search={table.stem.removeprefix('search-')}"
    done = run.info.status == "FINISHED" and grid in run.data.params.get("overrides", "").split()
    return done and all(abs(run.data.metrics.get(key, math.inf) - value) < ROUNDED for key, value in figures.items())


def _shows(run: Run, output: Output) -> bool:
    """Whether a stage's run says what the output does; of what only one of them has, nothing."""
    figures, parameters = run.data.metrics, run.data.params
    return all(
        math.isclose(figures.get(key, value), value, rel_tol=1e-9) for key, value in output.figures.items()
    ) and all(parameters.get(key, value) == value for key, value in _parameters(output).items())


def _components(folder: Path) -> list[str]:
    """The models that a mixture mixes; none of any other."""
    if not (folder / "weights.json").is_file():
        return []
    return models.components(read_json(folder / "weights.json"))


@contextmanager
def alone() -> Iterator[None]:
    """Waits until no other publish of this checkout runs: both would create what neither has found."""
    lock = FileLock(ROOT / "mlflow.db.publish.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        print("another publish is under way: this one waits for it", file=sys.stderr)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def main(arguments: list[str] | None = None) -> None:
    """python -m pipeline.commands.publish"""
    parser = argparse.ArgumentParser(
        prog="python -m pipeline.commands.publish",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--root", default=ROOT, type=Path, help="the checkout whose outputs are published")
    parser.add_argument("--models", nargs="*", metavar="NAME", help="only these become models; no name: none does")
    given = parser.parse_args(arguments)
    try:
        with alone():
            _publish(given.root.resolve(), given.models)
    except InputError as error:
        sys.exit(exit_code(str(error)))
    except tracking.UNREACHABLE as error:
        said = " ".join(str(error).split())[:300]
        sys.exit(exit_code(f"publishing stopped: {said}; what was published stays, repeat the command to go on"))


def _publish(root: Path, names: list[str] | None) -> None:
    found = list(outputs(root))
    if not found:
        raise InputError(f"{root}: no outputs of the pipeline to publish; run `dvc repro`")
    served = {output.model: output for output in found if output.serves}
    chosen = served if names is None else dict.fromkeys(names)
    unknown = [name for name in chosen if name not in served]
    if unknown:
        raise InputError(f"--models: {', '.join(unknown)} can't be served; there are: {', '.join(served) or 'none'}")
    publisher = Publisher(root, {output.data for output in found})
    runs = {}
    for output in tqdm(found, desc="runs", disable=None):
        runs[output.folder] = publisher.publish(output)
    grids = sorted((root / "reports").glob("search-*.csv"))
    for table in grids:
        publisher.publish_grid(table)
    print(f"{len(runs)} runs and {len(grids)} grids in {publisher.client.tracking_uri}")
    ids = {name: publisher.logged(output) for name, output in served.items()}
    for name in tqdm([name for name in chosen if not ids[name]], desc="models", disable=None):
        ids[name] = publisher.log_model(runs[served[name].folder], served[name])
    there = [name for name in ids if ids[name]]
    if there:
        best = min(there, key=lambda name: served[name].figures["valid"])
        version = publisher.register(ids[best])
        print(f"{len(there)} models; the best by validation, {best}, is {MODEL}@{ALIAS}, version {version}")


if __name__ == "__main__":
    main()
