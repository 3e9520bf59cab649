"""Stage train: one network with one seed, from ids to weights, learning curve and log-probabilities."""

import logging
import shutil
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from safetensors.torch import save_file
from tqdm.contrib.logging import logging_redirect_tqdm

from pipeline.config.stages import Train
from pipeline.core.text.build import digest
from pipeline.core.training.train import Trained, train
from pipeline.core.training.trainer import Epoch, Progress, Watch
from pipeline.data.corpus import Corpus, read_corpus
from pipeline.data.errors import InputError
from pipeline.data.files import read_array
from pipeline.data.predictions import write_predictions
from pipeline.data.record import Record, check_corpus, describe, read
from pipeline.running import app, checkpoint, interrupts, processes, tracking
from pipeline.running.recorded import recorded
from pipeline.running.shapes import family_of

STATE = "state.pt"  # a checkpoint of the end, for a training that goes on from there

log = logging.getLogger(__name__)


def main(config: Train) -> None:
    """Writes weights.safetensors, curve.csv, the arrays and metrics.json into config.out."""
    if config.device != "cpu":
        _check_device(config.device)
    with processes.joined(config.parallel, family_of(config.model), config.device) as joined:
        if joined.count > 1 and (config.resume or config.keep_state):
            raise InputError(
                f"resume and keep_state are for one process, and these are {joined.count}: each would have a state of "
                "its own"
            )
        _run(config, joined)


def _check_device(device: str) -> None:
    """Raises InputError for a device that is not there."""
    try:
        torch.zeros(1, device=device).item()
    except Exception as error:  # each kind of device has its own
        said = str(error).split("\n")[0][:150] or type(error).__name__
        raise InputError(f"device={device}: it can't be used here: {said}; use device=cpu") from error


def _run(config: Train, joined: processes.Ranks) -> None:
    corpus = read_corpus(config.data)
    features = _read_features(config.features) if config.features else None
    what = asdict(describe("train", config, corpus.counts["digest"])) | {"processes": asdict(joined)}
    what |= {"features": digest(features)} if config.features else {}
    code = checkpoint.code_of(config.model.family, config.parallel)
    with checkpoint.claim(Path(config.checkpoints), what, code) as path:
        earlier = Progress()  # what another training, gone on from here, has done
        if config.resume:
            state = _state_of(config, corpus)
            earlier = Progress(**checkpoint.read_state(state)["progress"])
            if not path.is_file():
                shutil.copyfile(state, path)
        splits = ["valid", "test"] + (["train"] if config.score_train and config.seed == 0 else [])
        with (
            recorded("train", config, corpus, joined.first, path.stem) as run,
            logging_redirect_tqdm(),
        ):
            watch = Shown(config, joined, joined.checkpoint(path, config.checkpoint_seconds), run)
            with interrupts.noted(), closing(watch):
                trained = train(
                    corpus.splits,
                    len(corpus.vocabulary),
                    corpus.mark,
                    config.model,
                    config.recipe,
                    config.seed,
                    joined.device,
                    config.parallel,
                    splits,
                    watch,
                    features,
                )
            if joined.first:
                _write(config, corpus, trained)
                if config.keep_state:
                    shutil.copyfile(path, Path(config.out, STATE))
                # In all processes, where one took up the work of a killed one.
                training = trained.progress.seconds - earlier.seconds
                epochs = trained.progress.epoch - earlier.epoch
                run.costs |= {
                    "seconds": training + time.perf_counter() - watch.began,
                    "training_seconds": training,
                    "words_per_second": epochs * len(corpus.train) / training,
                }
        joined.wait()  # no process removes its checkpoint before the first has written the results


class Shown(Watch):
    """A training as people see it: a progress bar, silent where the output is no terminal, and a line an epoch, in
    MLflow too; and as files: the checkpoint."""

    def __init__(self, config: Train, joined: processes.Ranks, file: checkpoint.CheckpointFile, run: tracking.Run):
        self.name, self.reading = config.name, "with share" if config.recipe.stopping_share else "raw"
        self.joined, self.file, self.run = joined, file, run
        self.bar, self.began, self.done = None, time.perf_counter(), Progress()

    def resume(self) -> dict | None:
        """See Watch."""
        state = self.file.read()
        if state is not None:
            self.done = Progress(**state["progress"])
            log.info("resuming after epoch %d, step %d", self.done.epoch, self.done.step)
            self.run.curve(self.done.curve)
        return state

    def begin(self, amount: int, what: str = "", done: int = 0) -> None:
        """See Watcher."""
        if self.bar is not None:
            self.bar.total = self.bar.n  # early stopping may have ended it
            self.bar.close()
        self.bar, self.began = self.joined.bar(what or self.name, amount, done), time.perf_counter()

    def close(self) -> None:
        """The bar is done."""
        if self.bar is not None:
            self.bar.close()

    def advance(self, amount: int) -> None:
        """See Watcher."""
        self.bar.update(amount)
        if interrupts.asked():
            raise self._stopped()

    def step(self, progress: Progress, words: int) -> None:
        """See Watch."""
        self.bar.update(words)
        if progress.perplexity:
            self.bar.set_postfix(epoch=progress.epoch + 1, training=f"{progress.perplexity:.1f}", refresh=False)

    def epoch(self, epoch: Epoch) -> None:
        """See Watch."""
        log.info(
            "epoch %d: training %.1f (running), validation %.1f (%s, on %s tokens of it)",
            *(epoch.epoch, epoch.train_perplexity, epoch.valid_perplexity, self.reading, f"{epoch.valid_tokens:,}"),
        )
        self.run.curve(self.done.curve)  # which ends with this one, as `save` came first

    def save(self, state: dict) -> None:
        """See Watch."""
        self.file.write(state)
        self.done = Progress(**state["progress"])

    def look(self, save: Callable[[], None]) -> None:
        """See Watch."""
        try:
            self.file.tick(save)
        except interrupts.StoppedError:
            raise self._stopped() from None

    def _stopped(self) -> KeyboardInterrupt:
        place = f"after epoch {self.done.epoch}, step {self.done.step}; the state is saved in {self.file}"
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
    both = [_but_epochs(record) for record in (made, describe("train", config, corpus.counts["digest"]))]
    differ = [key for key in both[0] if both[0][key] != both[1].get(key)]
    if differ:
        raise InputError(f"resume={folder}: trained with another {', '.join(differ)}; recipe.epochs alone may differ")
    return folder / STATE


def _but_epochs(made: Record) -> dict:
    """What must be the same of a training and of one that goes on from it."""
    recipe = made.config["recipe"] | {"epochs": 0, "patience": 0}
    return {"seed": made.seed, "model": made.config["model"], "features": made.config["features"], "recipe": recipe}


def _write(config: Train, corpus: Corpus, trained: Trained) -> None:
    """The files of the result, and its figure for the log."""
    out, size = Path(config.out), sum(tensor.numel() for tensor in trained.weights.values())
    write_predictions(out, corpus, trained.scored)
    save_file(trained.weights, out / "weights.safetensors")
    pd.DataFrame(trained.progress.curve).to_csv(out / "curve.csv", index=False)
    log.info("%s, seed %d: %s free parameters", config.name, config.seed, f"{size:,}")


def _read_features(path: str) -> np.ndarray:
    if not Path(path).is_file():
        raise InputError(f"features={path}: no such file")
    return read_array(Path(path))


if __name__ == "__main__":
    app.run("train", main)
