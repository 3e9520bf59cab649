"""Stage train: one network with one seed, from ids to weights, learning curve and log-probabilities."""

import csv
import logging
import shutil
import time
from dataclasses import asdict, fields
from pathlib import Path

import numpy as np
import torch
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from safetensors.torch import save_file
from tqdm.contrib.logging import logging_redirect_tqdm

from pipeline.config.train import Train
from pipeline.core.common.errors import InputError
from pipeline.core.common.stream import digest
from pipeline.core.networks import registry
from pipeline.core.training import training_perplexity
from pipeline.core.training.train import Trained, train
from pipeline.core.training.trainer import Epoch, Progress
from pipeline.data.corpus import Corpus, read_corpus
from pipeline.data.files import read_array, read_json
from pipeline.data.predictions import write_predictions
from pipeline.data.record import FILE, Record, check_corpus, describe, read
from pipeline.running import app, checkpoint, tracking
from pipeline.running.check_family import check_family
from pipeline.running.processes import Ranks, joined
from pipeline.running.stage import recorded
from pipeline.running.training_watch import TrainingWatch

STATE = "state.pt"  # the checkpoint at the end, from which a longer training can go on

log = logging.getLogger(__name__)


def main(config: Train) -> None:
    """Writes weights.safetensors, curve.csv, the arrays and metrics.json into config.out."""
    if config.device != "cpu":
        _check_device(config.device)
    check_family(config.model)
    with joined(config.parallel, config.model.family, config.device) as ranks:
        if ranks.count > 1 and (config.resume or config.keep_state):
            raise InputError(f"resume and keep_state are for one process, and these are {ranks.count}")
        _run(config, ranks)


def _check_device(device: str) -> None:
    """Raises InputError if the device can't be used."""
    try:
        torch.zeros(1, device=device).item()
    except Exception as error:  # each kind of device raises an exception of its own
        message = str(error).split("\n")[0][:150] or type(error).__name__
        raise InputError(f"device={device}: it can't be used here: {message}; use device=cpu") from error


def _run(config: Train, ranks: Ranks) -> None:
    corpus = read_corpus(config.data)
    features = _read_features(config.features) if config.features else None
    record = describe("train", config, corpus.counts["digest"])
    data = Path(config.data)
    out = Path(config.out)
    settings = asdict(record) | {"processes": asdict(ranks)}
    settings |= {"features": digest(features)} if config.features else {}
    code = checkpoint.code_of(config.model.family, config.parallel)
    with checkpoint.claim(Path(config.checkpoints), settings, code) as path:
        if _is_trained(record, out=out, timing=Path(config.timing), training=path.stem):
            log.info("%s: trained when this grid ran before", out)
            with tracking.running(record, data, training=path.stem, finished=True) as run:
                run.call(lambda: tracking.log(run.id, out, data=data, cost={}))
            return
        # Of the training that `resume` names. A checkpoint has the epochs and seconds of stopped processes too.
        earlier_epochs = 0
        earlier_seconds = 0.0
        if config.resume:
            state = _state_to_resume(config, corpus)
            progress = Progress(**checkpoint.read_state(state)["progress"])
            earlier_epochs = progress.epoch
            earlier_seconds = progress.seconds
            if not path.is_file():
                shutil.copyfile(state, path)
        score_train = config.score_train if config.seed == 0 else False  # all, none, or a number of tokens
        splits = ["valid", "test"] + ["train"] * (score_train is True)
        with (
            recorded("train", config, corpus, first=ranks.first, training=path.stem) as run,
            logging_redirect_tqdm(),
        ):
            file = checkpoint.Checkpoint(path, config.checkpoint_seconds, ranks)
            with checkpoint.noting_signals(), TrainingWatch(config, ranks=ranks, file=file, run=run) as watch:
                trained = train(
                    corpus.splits,
                    vocabulary=len(corpus.vocabulary),
                    mark=corpus.mark,
                    model=config.model,
                    recipe=config.recipe,
                    seed=config.seed,
                    device=ranks.device,
                    parallel=config.parallel,
                    splits=splits,
                    watch=watch,
                    features=features,
                    exact=config.exact_scoring,
                )
                scoring_start = watch.start  # read now: watch.begin below sets it anew
                train_figures = {}
                if ranks.first and not isinstance(score_train, bool):
                    watch.begin(score_train, "scoring training")
                    train_figures = training_perplexity.sampled(
                        config.model,
                        weights=trained.weights,
                        vocabulary=len(corpus.vocabulary),
                        train=corpus.train,
                        mark=corpus.mark,
                        tokens=score_train,
                        rounded=trained.rounded,
                        progress=watch.advance,
                    )
            if ranks.first:
                _write(config, corpus=corpus, trained=trained, figures=train_figures)
                if config.keep_state:
                    shutil.copyfile(path, Path(config.out, STATE))
                # Epochs and seconds of all processes that took part in this training, killed ones too.
                epochs = trained.progress.epoch - earlier_epochs
                seconds = trained.progress.seconds - earlier_seconds
                run.costs |= {
                    "seconds": seconds + time.perf_counter() - scoring_start,
                    "training_seconds": seconds,
                    "words_per_second": epochs * len(corpus.train) / seconds,
                }
        ranks.wait()  # no process removes its checkpoint before the first has written the results


def _is_trained(record: Record, out: Path, timing: Path, training: str) -> bool:
    """Whether `out` has the result of exactly this training, by the same code, from an earlier run of the grid."""
    complete = timing.is_file() and (out / FILE).is_file() and read(out) == record
    return complete and read_json(timing).get("training") == training and HydraConfig.get().mode == RunMode.MULTIRUN


def _state_to_resume(config: Train, corpus: Corpus) -> Path:
    """The state file of the training that config.resume names. Raises InputError unless the two differ in epochs and
    patience alone."""
    folder = Path(config.resume)
    if not (folder / STATE).is_file():
        raise InputError(f"resume={folder}: it has no {STATE}; train with keep_state=true first")
    if config.recipe.schedule != "inverse":
        raise InputError(
            f"resume={folder}: the rate of recipe.schedule={config.recipe.schedule} follows from recipe.epochs, so no "
            "other can be trained on"
        )
    earlier = read(folder)
    check_corpus(earlier, folder, corpus)
    records = (earlier, describe("train", config, corpus.counts["digest"]))
    before, now = (dict(tracking.flattened({"seed": record.seed, **record.config})) for record in records)
    keys = [key for key in before | now if key.startswith(("seed", "features", "model.", "recipe."))]
    free = ("recipe.epochs", "recipe.patience")
    if differences := [key for key in keys if before.get(key) != now.get(key) and key not in free]:
        raise InputError(
            f"resume={folder}: trained with another {', '.join(differences)}; only its epochs and patience may differ"
        )
    return folder / STATE


def _write(config: Train, corpus: Corpus, trained: Trained, figures: dict[str, float | str]) -> None:
    """Writes the files of the result, and logs its size. figures: further values for metrics.json."""
    out = Path(config.out)
    size = sum(tensor.numel() for tensor in trained.weights.values())
    context = {} if registry.family(config.model.family).unbounded else {"context": config.model.n - 1}
    scoring = {"scoring": "bfloat16" if trained.rounded else "float32"}
    write_predictions(out, corpus, raw=trained.scored, figures=figures | {"parameters": size} | context | scoring)
    save_file(trained.weights, out / "weights.safetensors")
    with (out / "curve.csv").open("w", newline="") as file:  # not by pandas, which takes longer to import than to use
        lines = csv.DictWriter(file, [field.name for field in fields(Epoch)], lineterminator="\n")
        lines.writeheader()
        lines.writerows(trained.progress.curve)
    log.info("%s, seed %d: %s free parameters", config.name, config.seed, f"{size:,}")


def _read_features(path: str) -> np.ndarray:
    if not Path(path).is_file():
        raise InputError(f"features={path}: no such file")
    return read_array(Path(path))


if __name__ == "__main__":
    app.run("train", main)
