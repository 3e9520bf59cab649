"""Stage train: one network with one seed, from ids to weights, learning curve and log-probabilities."""

import logging
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
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
from pipeline.core.training.trainer import Epoch, Progress, Watch
from pipeline.data.corpus import Corpus, read_corpus
from pipeline.data.files import read_array, read_json
from pipeline.data.predictions import write_predictions
from pipeline.data.record import FILE, Record, check_corpus, describe, read
from pipeline.running import app, checkpoint, tracking
from pipeline.running.check_family import check_family
from pipeline.running.processes import Ranks, joined
from pipeline.running.progress import Bar
from pipeline.running.stage import recorded

STATE = "state.pt"  # a checkpoint of the end, for a training that goes on from there

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
    """Raises InputError for a device that is not there."""
    try:
        torch.zeros(1, device=device).item()
    except Exception as error:  # each kind of device has its own
        said = str(error).split("\n")[0][:150] or type(error).__name__
        raise InputError(f"device={device}: it can't be used here: {said}; use device=cpu") from error


def _run(config: Train, ranks: Ranks) -> None:
    corpus = read_corpus(config.data)
    features = _read_features(config.features) if config.features else None
    made, data, out = describe("train", config, corpus.counts["digest"]), Path(config.data), Path(config.out)
    what = asdict(made) | {"processes": asdict(ranks)}
    what |= {"features": digest(features)} if config.features else {}
    code = checkpoint.code_of(config.model.family, config.parallel)
    with checkpoint.claim(Path(config.checkpoints), what, code) as path:
        if _is_there(made, out, Path(config.timing), path.stem):
            log.info("%s: trained when this grid ran before", out)
            with tracking.running(made, data, path.stem, again=True) as run:
                run.call(tracking.log, out, data, {})
            return
        earlier = 0, 0.0  # epochs and seconds of another training, which this one goes on from
        if config.resume:
            state = _state_of(config, corpus)
            progress = Progress(**checkpoint.read_state(state)["progress"])
            earlier = progress.epoch, progress.seconds
            if not path.is_file():
                shutil.copyfile(state, path)
        wanted = config.score_train if config.seed == 0 else False  # of training: all, none, or so many tokens
        splits = ["valid", "test"] + ["train"] * (wanted is True)
        with recorded("train", config, corpus, ranks.first, path.stem) as run, logging_redirect_tqdm():
            file = checkpoint.Checkpoint(path, config.checkpoint_seconds, ranks)
            with checkpoint.noting_signals(), Shown(config, ranks, file, run) as watch:
                what = corpus.splits, len(corpus.vocabulary), corpus.mark, config.model, config.recipe
                how = config.seed, ranks.device, config.parallel
                trained = train(*what, *how, splits, watch, features)
                scoring, more = watch.began, {}
                if ranks.first and not isinstance(wanted, bool):
                    watch.begin(wanted, "scoring training")
                    what = config.model, trained.weights, len(corpus.vocabulary), corpus.train, corpus.mark
                    more = training_perplexity.sampled(*what, wanted, watch.advance)
            if ranks.first:
                _write(config, corpus, trained, more)
                if config.keep_state:
                    shutil.copyfile(path, Path(config.out, STATE))
                # In all processes, where one took up the work of a killed one.
                epochs, training = trained.progress.epoch - earlier[0], trained.progress.seconds - earlier[1]
                run.costs |= {
                    "seconds": training + time.perf_counter() - scoring,
                    "training_seconds": training,
                    "words_per_second": epochs * len(corpus.train) / training,
                }
        ranks.wait()  # no process removes its checkpoint before the first has written the results


def _is_there(made: Record, out: Path, timing: Path, training: str) -> bool:
    """Whether an earlier run of the same grid has left the result of this very training, by this very code."""
    whole = timing.is_file() and (out / FILE).is_file() and read(out) == made
    return whole and read_json(timing).get("training") == training and HydraConfig.get().mode == RunMode.MULTIRUN


class Shown(Bar, Watch):
    """A training as people see it: a progress bar and a line an epoch, in MLflow too; and as files: the checkpoint. Its
    methods are those of Watch and Watcher."""

    def __init__(self, config: Train, ranks: Ranks, file: checkpoint.Checkpoint, run: tracking.Run):
        super().__init__(config.name, shown=ranks.first)
        self.reading = "with share" if config.recipe.stopping_share else "raw"
        self.file, self.run, self.began, self.done = file, run, time.perf_counter(), Progress()

    def resume(self) -> dict | None:
        state = self.file.read()
        if state is not None:
            self.done = Progress(**state["progress"])
            log.info("resuming after epoch %d, step %d", self.done.epoch, self.done.step)
        return state

    def begin(self, amount: int, what: str = "", done: int = 0) -> None:
        self.bar.total = self.bar.n  # early stopping may have ended the one before
        super().begin(amount, what, done)
        self.began = time.perf_counter()

    def advance(self, amount: int) -> None:
        super().advance(amount)
        if checkpoint.is_to_stop():
            raise self._stopped()

    def step(self, progress: Progress, words: int) -> None:
        self.bar.update(words)
        if progress.perplexity:
            self.bar.set_postfix(epoch=progress.epoch + 1, training=f"{progress.perplexity:.1f}", refresh=False)

    def epoch(self, epoch: Epoch) -> None:
        log.info(
            "epoch %d: training %.1f (running), validation %.1f (%s, on %s tokens of it)",
            *(epoch.epoch, epoch.train_perplexity, epoch.valid_perplexity, self.reading, f"{epoch.valid_tokens:,}"),
        )
        self.run.call(tracking.log_curve, self.run.id, self.done.curve)  # with this one, as `save` came first

    def save(self, state: dict) -> None:
        self.file.write(state)
        self.done = Progress(**state["progress"])

    def look(self, save: Callable[[], None]) -> None:
        if self.file.tick(save):
            raise self._stopped()

    def _stopped(self) -> KeyboardInterrupt:
        place = f"after epoch {self.done.epoch}, step {self.done.step}; the state is saved in {self.file.path}"
        return KeyboardInterrupt(f"{place}; repeat the command to resume from there")


def _state_of(config: Train, corpus: Corpus) -> Path:
    """The state at the end of the training that this one goes on from, which has fewer epochs and all else the same."""
    folder = Path(config.resume)
    if not (folder / STATE).is_file():
        raise InputError(f"resume={folder}: it has no {STATE}; train with keep_state=true first")
    if config.recipe.schedule != "inverse":
        raise InputError(
            f"resume={folder}: the rate of recipe.schedule={config.recipe.schedule} follows from recipe.epochs, so no "
            "other can be trained on"
        )
    made = read(folder)
    check_corpus(made, folder, corpus)
    runs = made, describe("train", config, corpus.counts["digest"])
    theirs, ours = (dict(tracking.flattened({"seed": run.seed, **run.config})) for run in runs)
    keys = [key for key in theirs | ours if key.startswith(("seed", "features", "model.", "recipe."))]
    free = ("recipe.epochs", "recipe.patience")
    if differ := [key for key in keys if theirs.get(key) != ours.get(key) and key not in free]:
        raise InputError(
            f"resume={folder}: trained with another {', '.join(differ)}; only its epochs and patience may differ"
        )
    return folder / STATE


def _write(config: Train, corpus: Corpus, trained: Trained, more: dict[str, float]) -> None:
    """The files of the result, and its figure for the log; more: what stands in metrics.json too."""
    out, size = Path(config.out), sum(tensor.numel() for tensor in trained.weights.values())
    context = {} if registry.family(config.model.family).unbounded else {"context": config.model.n - 1}
    write_predictions(out, corpus, trained.scored, more | {"parameters": size} | context)
    save_file(trained.weights, out / "weights.safetensors")
    pd.DataFrame(trained.progress.curve).to_csv(out / "curve.csv", index=False)
    log.info("%s, seed %d: %s free parameters", config.name, config.seed, f"{size:,}")


def _read_features(path: str) -> np.ndarray:
    if not Path(path).is_file():
        raise InputError(f"features={path}: no such file")
    return read_array(Path(path))


if __name__ == "__main__":
    app.run("train", main)
