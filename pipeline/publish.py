"""`make publish`: the tracking store as the stages' outputs say it should be.

Each output of a stage in a dvc.lock is a run, whether it was computed here or restored by DVC: parameters from the
lock, figures and learning curve from the output, the paper's row as a note, the corpus as a data set. A run that the
stage itself has logged is completed, not logged again. Of Brown's models, networks with seed 0 and the best n-gram
become models that `mlflow models serve` serves; the best by validation is registered as `nplm`, alias `best`. To repeat
it changes nothing.
"""

import argparse
import logging
import math
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import mlflow
import pandas as pd
import yaml
from mlflow.entities import Dataset, DatasetInput, InputTag, LoggedModelStatus, Metric, Param, Run
from mlflow.exceptions import MlflowException
from mlflow.utils.time import get_current_time_millis
from omegaconf import OmegaConf
from tqdm import tqdm

from pipeline import store, tracking
from pipeline.app import ROOT, exit_code
from pipeline.core.errors import InputError
from pipeline.served import EXAMPLE, SIGNATURE

os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")

OUTPUT = "nplm.output"  # tag: DVC's md5 of the output that a run shows
MODEL, ALIAS = "nplm", "best"
BEST_NGRAM, BROWN = "best-ngram", "brown"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Output:
    """What a stage wrote for one model and seed, by a dvc.lock."""

    stage: str
    name: str
    seed: int
    folder: Path
    md5: str
    parameters: dict

    @property
    def metrics(self) -> dict[str, float]:
        """Its figures."""
        return {k: v for k, v in store.read_json(self.folder / "metrics.json").items() if isinstance(v, (int, float))}

    @property
    def corpus(self) -> str:
        """Which corpus it is of: predictions/<name>/<seed> is Brown's, predictions/<corpus>/<name>/<seed> another's."""
        above = self.folder.parent.parent.name
        return BROWN if above == "predictions" else above

    @property
    def serves(self) -> bool:
        """Whether it becomes a model: a network's first seed, or the best n-gram. Other corpora's are too large."""
        network = self.seed == 0 and (self.folder / "weights.safetensors").is_file()
        return self.corpus == BROWN and (network or self.name == BEST_NGRAM)


def outputs(root: Path) -> Iterator[Output]:
    """Each model in the locks below a folder whose output is there."""
    for lock in [root / "dvc.lock", *sorted(root.glob("experiments/*/dvc.lock"))]:
        if not lock.is_file():
            continue
        for stage, entry in yaml.safe_load(lock.read_text(encoding="utf-8"))["stages"].items():
            for out in entry.get("outs", []):
                folder = Path(os.path.normpath(lock.parent / entry.get("wdir", ".") / out["path"]))
                if (root / "predictions") in folder.parents and (folder / "metrics.json").is_file():
                    values = {Path(file).stem: value for file, value in entry.get("params", {}).items()}
                    yield Output(stage.split("@")[0], folder.parent.name, int(folder.name), folder, out["md5"], values)


def paper_rows(root: Path) -> dict[tuple[bool, str], str]:
    """By whether it is of the paper's corpus, Brown, and by our model's name: its row of the paper and its figures."""
    rows = {}
    for file in sorted((root / "conf" / "table").glob("*.yaml")):
        table = OmegaConf.load(file)
        for row in table.rows:
            figures = ", ".join(f"{split} {value:g}" for split, value in row.get("paper", {}).items())
            rows[table.same_corpus, row.name] = f"{row.row}. " + (
                f"The paper's perplexity: {figures}." if figures else "Not in the paper."
            )
    return rows


class Publisher:
    """Brings a store in line with outputs."""

    def __init__(self, root: Path, corpora: set[str]):
        self.root = root
        self.client = tracking.open_client()
        self.experiment = tracking.experiment_of(self.client)
        self.digests = {name: store.read_json(root / "data" / name / "counts.json")["digest"] for name in corpora}
        code = tracking.code_state()
        self.parents = {name: tracking.group_run(self.client, code, self.digests[name]) for name in corpora}
        self.notes = paper_rows(root)

    def publish(self, output: Output) -> Run:
        """The run of an output: found by its tag, else one that the stage logged, else a new one."""
        found = self._search(f"tags.`{OUTPUT}` = '{output.md5}'")
        if found:
            return found[0]
        logged = self._search(f"tags.model = '{output.name}' and tags.seed = '{output.seed}'")
        same = [run for run in logged if run.info.status == "FINISHED" and self._shows(run, output)]
        run = same[0] if same else self._create(output)
        for killed in logged:  # before this one; its process is gone, since the output is there
            if killed.info.status == "RUNNING" and killed.info.start_time <= run.info.start_time:
                self.client.set_terminated(killed.info.run_id, "KILLED")
        self._complete(run.info.run_id, output)
        return self.client.get_run(run.info.run_id)

    def _search(self, condition: str) -> list[Run]:
        return list(self.client.search_runs([self.experiment], condition))

    def _shows(self, run: Run, output: Output) -> bool:
        return all(
            split in run.data.metrics and math.isclose(run.data.metrics[split], output.metrics[split], rel_tol=1e-9)
            for split in ("valid", "test")
        )

    def _create(self, output: Output) -> Run:
        tags = {"stage": output.stage, "model": output.name, "seed": output.seed}
        tags |= {"data": self.digests[output.corpus], tracking.PARENT: self.parents[output.corpus]}
        run = self.client.create_run(
            self.experiment, run_name=f"{output.name}-{output.seed}", tags=tracking.strings(tags)
        )
        now, curve = get_current_time_millis(), output.folder / "curve.csv"
        metrics = [Metric(key, float(value), now, 0) for key, value in output.metrics.items()]
        if curve.is_file():
            for line in pd.read_csv(curve).to_dict("records"):
                epoch = int(line.pop("epoch"))
                metrics += [Metric(key, float(value), now, epoch) for key, value in line.items()]
        parameters = [Param(key, str(value)) for key, value in tracking.flattened(output.parameters)]
        self.client.log_batch(run.info.run_id, metrics=metrics, params=parameters)
        self.client.set_terminated(run.info.run_id)
        return self.client.get_run(run.info.run_id)

    def _complete(self, run_id: str, output: Output) -> None:
        data = Dataset(
            name=output.corpus,
            digest=self.digests[output.corpus][:36],  # as long as MLflow takes it; the tag `data` has all of it
            source_type="local",
            source=str(self.root / "data" / output.corpus),
        )
        self.client.log_inputs(run_id, [DatasetInput(data, [InputTag("mlflow.data.context", "training")])])
        note = self.notes.get((output.corpus == BROWN, output.name))
        if note:
            self.client.set_tag(run_id, "mlflow.note.content", note)
        self.client.set_tag(run_id, OUTPUT, output.md5)  # last: what a killed publish left undone is done again

    def logged(self, output: Output) -> str:
        """The id of an output's model in the store, "" where it is not there."""
        logged = self.client.search_logged_models([self.experiment], filter_string=f"tags.`{OUTPUT}` = '{output.md5}'")
        return next((model.model_id for model in logged if model.status == LoggedModelStatus.READY), "")

    def log_model(self, run: Run, output: Output) -> str:
        """Logs an output's model in its run; its id."""
        with tempfile.TemporaryDirectory() as folder, mlflow.start_run(run_id=run.info.run_id):
            made = mlflow.pyfunc.log_model(
                name=output.name,
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
        shutil.copytree(self.root / "data" / "brown", folder / "data")
        for name in (f"{output.name}/{output.seed}", *_components(output.folder)):
            source, target = self.root / "predictions" / name, folder / "predictions" / name
            target.mkdir(parents=True)
            for file in ("metrics.json", "weights.json", "weights.safetensors"):
                if (source / file).is_file():
                    shutil.copyfile(source / file, target / file)
        if (self.root / "clusters").is_dir() and not (output.folder / "weights.safetensors").is_file():
            shutil.copytree(self.root / "clusters", folder / "clusters")
        store.write_json(folder / "name.json", {"name": f"{output.name}/{output.seed}"})
        return folder

    def register(self, model_id: str) -> str:
        """The model becomes a version of `nplm`, if it is not yet, and gets the alias; the version."""
        source = f"models:/{model_id}"
        with suppress(MlflowException):  # it is there
            self.client.create_registered_model(MODEL)
        same = [found for found in self.client.search_model_versions(f"name = '{MODEL}'") if found.source == source]
        version = same[0] if same else self.client.create_model_version(MODEL, source, model_id=model_id)
        self.client.set_registered_model_alias(MODEL, ALIAS, version.version)
        return str(version.version)


def _components(folder: Path) -> list[str]:
    """The models that a mixture mixes; none of any other."""
    if not (folder / "weights.json").is_file():
        return []
    weights = store.read_json(folder / "weights.json")
    first = next(iter(weights.values()))
    return list(first if isinstance(first, dict) else weights)


def main(arguments: list[str] | None = None) -> None:
    """python -m pipeline.publish"""
    parser = argparse.ArgumentParser(
        prog="python -m pipeline.publish", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--root", default=ROOT, type=Path, help="the checkout whose outputs are published")
    parser.add_argument("--models", nargs="*", metavar="NAME", help="only these become models; no name: none does")
    given = parser.parse_args(arguments)
    try:
        _publish(given.root, given.models)
    except InputError as error:
        sys.exit(exit_code(str(error)))
    except MlflowException as error:
        sys.exit(exit_code(f"MLflow says: {str(error)[:300]}; what was published stays, repeat the command to go on"))


def _publish(root: Path, names: list[str] | None) -> None:
    found = list(outputs(root))
    if not found:
        raise InputError(f"{root}: no outputs of the pipeline to publish; run `dvc repro`")
    served = {output.name: output for output in found if output.serves}
    chosen = served if names is None else dict.fromkeys(names)
    unknown = [name for name in chosen if name not in served]
    if unknown:
        raise InputError(f"--models: {', '.join(unknown)} can't be served; there are: {', '.join(served) or 'none'}")
    publisher = Publisher(root, {output.corpus for output in found})
    mlflow.set_tracking_uri(publisher.client.tracking_uri)
    runs = {}
    for output in tqdm(found, desc="runs", disable=None):
        runs[output.folder] = publisher.publish(output)
    print(f"{len(runs)} runs in {publisher.client.tracking_uri}")
    ids = {name: publisher.logged(output) for name, output in served.items()}
    for name in tqdm([name for name in chosen if not ids[name]], desc="models", disable=None):
        ids[name] = publisher.log_model(runs[served[name].folder], served[name])
    there = [name for name in ids if ids[name]]
    if there:
        best = min(there, key=lambda name: served[name].metrics["valid"])
        version = publisher.register(ids[best])
        print(f"{len(there)} models; the best by validation, {best}, is {MODEL}@{ALIAS}, version {version}")


if __name__ == "__main__":
    main()
