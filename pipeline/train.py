"""Stage train: one network with one seed, from ids to weights, learning curve and log-probabilities."""

import logging
import os
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from safetensors.torch import save_file
from tqdm.contrib.logging import logging_redirect_tqdm

from pipeline.data.constraints import at_least, check
from pipeline.data.corpus import Corpus, read_corpus
from pipeline.data.errors import InputError
from pipeline.data.files import digest, read_array
from pipeline.data.predictions import write_predictions
from pipeline.data.record import Record, check_corpus, describe, read
from pipeline.networks.base import Architecture, Network
from pipeline.running import app, tracking
from pipeline.running.recorded import recorded
from pipeline.training import checkpoint, interrupts, processes
from pipeline.training.recipe import Recipe
from pipeline.training.trainer import Epoch, Progress, Trainer

STATE = "state.pt"  # a checkpoint of the end, for a training that goes on from there

log = logging.getLogger(__name__)


@dataclass
class Config:
    """conf/train.yaml."""

    name: str
    model: Architecture
    recipe: Recipe
    data: str
    seed: int = at_least(0)
    device: str
    parallel: str
    score_train: bool
    features: str
    checkpoints: str
    checkpoint_seconds: float = at_least(0)
    keep_state: bool
    resume: str
    out: str
    timing: str

    def __post_init__(self):
        check(self)
        try:
            torch.device(self.device)
        except RuntimeError:
            raise InputError(f"device={self.device}: choose cpu, cuda or cuda:N") from None
        if self.device.startswith("cuda") and not torch.cuda.is_available():
            raise InputError(f"device={self.device}: this machine or this build of torch has no CUDA; use device=cpu")


def main(config: Config) -> None:
    """Writes weights.safetensors, curve.csv, the arrays and metrics.json into config.out."""
    if config.device.startswith("cuda"):  # sums over repeated words in one order, at some cost in speed
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True)
    with processes.joined(config.parallel, config.model.family, config.device) as joined:
        if joined.count > 1 and (config.resume or config.keep_state):
            raise InputError(
                f"resume and keep_state are for one process, and these are {joined.count}: each would have a state of "
                "its own"
            )
        _run(config, joined)


def _run(config: Config, joined: processes.Ranks) -> None:
    corpus = read_corpus(config.data)
    features = _read_features(config.features) if config.features else None
    what = asdict(describe("train", config, corpus.counts["digest"])) | {"processes": asdict(joined)}
    what |= {"features": digest(features)} if config.features else {}
    code = checkpoint.code_of(config.model.family)
    with checkpoint.claim(Path(config.checkpoints), what, code) as path:
        earlier = Progress()  # what another training, gone on from here, has done
        if config.resume:
            state = _state_of(config, corpus)
            earlier = Progress(**checkpoint.read_state(state)["progress"])
            if not path.is_file():
                shutil.copyfile(state, path)
        with recorded("train", config, corpus, joined.first, path.stem) as run:
            network = joined.part(config.model, len(corpus.vocabulary))
            log.info("%s, seed %d: %s free parameters", config.name, config.seed, f"{_size(network.state_dict()):,}")
            trainer = Trainer(
                network,
                config.recipe,
                corpus.train,
                corpus.valid,
                corpus.mark,
                config.seed,
                joined.device,
                joined.checkpoint(path, config.checkpoint_seconds),
                features,
            )
            network = _train(trainer, config, joined, run, path)
            scoring = time.perf_counter()
            splits = ["valid", "test"] + (["train"] if config.score_train and config.seed == 0 else [])
            scored, weights = _score(network, corpus, joined, splits), joined.whole(network)
            if joined.first:
                _write(config, corpus, trainer.progress, scored, weights)
                if config.keep_state:
                    shutil.copyfile(path, Path(config.out, STATE))
                # In all processes, where one took up the work of a killed one.
                training = trainer.progress.seconds - earlier.seconds
                epochs = trainer.progress.epoch - earlier.epoch
                run.costs |= {
                    "seconds": training + time.perf_counter() - scoring,
                    "training_seconds": training,
                    "words_per_second": epochs * len(corpus.train) / training,
                }
        joined.wait()  # no process removes its checkpoint before the first has written the results


def _state_of(config: Config, corpus: Corpus) -> Path:
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


def _write(
    config: Config,
    corpus: Corpus,
    progress: Progress,
    scored: dict[str, np.ndarray],
    weights: dict[str, torch.Tensor],
) -> None:
    """The files of the result, and its figure for the log."""
    out = Path(config.out)
    metrics = write_predictions(out, corpus, scored)
    save_file(weights, out / "weights.safetensors")
    pd.DataFrame(progress.curve).to_csv(out / "curve.csv", index=False)
    log.info("%s: validation %.2f with share", config.name, metrics["valid"])  # test is for the report


def _size(weights: dict[str, torch.Tensor]) -> int:
    return sum(tensor.numel() for tensor in weights.values())


def _read_features(path: str) -> np.ndarray:
    if not Path(path).is_file():
        raise InputError(f"features={path}: no such file")
    return read_array(Path(path))


def _train(trainer: Trainer, config: Config, joined: processes.Ranks, run: tracking.Run, path: Path) -> Network:
    """Trains with a progress bar, silent where the output is no terminal, and the curve in MLflow.

    path: of the checkpoint. Raises KeyboardInterrupt, which says what is saved, where a signal asked for the end.
    """
    total = trainer.batches.words * config.recipe.epochs
    if trainer.words:
        log.info("resuming from word %s of %s", f"{trainer.words:,}", f"{total:,}")
        run.curve(trainer.progress.curve)
    with joined.bar(config.name, total, trainer.words) as bar, logging_redirect_tqdm(), interrupts.noted():

        def on_step(progress: Progress, words: int) -> None:
            bar.update(words)
            if progress.perplexity:
                bar.set_postfix(epoch=progress.epoch + 1, perplexity=f"{progress.perplexity:.1f}", refresh=False)

        def on_epoch(epoch: Epoch) -> None:
            log.info(
                "epoch %d: training %.1f (running), validation %.1f",
                *(epoch.epoch, epoch.train_perplexity, epoch.valid_perplexity),
            )
            run.curve(trainer.progress.curve)

        try:
            network = trainer.run(on_step, on_epoch)
            if interrupts.asked():  # after the last time that a checkpoint could be written within an epoch
                raise interrupts.StoppedError
        except interrupts.StoppedError:
            saved = f"at word {trainer.words:,} of {total:,}; the state is saved in {path}"
            raise KeyboardInterrupt(f"{saved}; repeat the command to resume from there") from None
        bar.total = bar.n  # early stopping may have ended it
        return network


def _score(network: Network, corpus: Corpus, joined: processes.Ranks, splits: list[str]) -> dict[str, np.ndarray]:
    """Natural-log probability of every token of the splits, exact."""
    scored = {}
    with joined.bar("scoring", sum(len(corpus.ids(split)) for split in splits)) as bar:
        for split in splits:
            bar.set_description(f"scoring {split}")
            ids, before = corpus.ids(split), corpus.before(split)
            scored[split] = network.score(ids, before, corpus.mark, progress=bar.update)
    return scored


if __name__ == "__main__":
    app.run("train", Config, main)
