"""The predictions of a model: arrays with the natural-log probability of every token of a split."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from pipeline.core.common import evaluation
from pipeline.core.common.errors import InputError
from pipeline.data.corpus import Corpus
from pipeline.data.files import read_array, read_json, write_json
from pipeline.data.record import FILE, check_corpus, read

log = logging.getLogger(__name__)

EVALUATIONS = {"raw": "raw/{}", "corrected": "{}"}  # the array of a split
ABOVE = 1e-4  # a log-probability may be so far above 0, by rounding


def write_predictions(
    folder: Path, corpus: Corpus, raw: dict[str, np.ndarray], figures: Mapping[str, float | str] | None = None
) -> dict[str, float]:
    """Writes the arrays of a model: the uncorrected ones as `raw/<split>.npy`; those corrected for unseen words as
    `valid.npy` and `test.npy`. The correction is fitted on validation. Returns the perplexities and the weight of
    the correction; metrics.json has them too.

    raw: natural-log probability (T,) of every token of valid and test, and of train if it was computed; figures:
    further values for metrics.json.
    """
    (folder / FILE).unlink(missing_ok=True)  # the folder is complete when its stage has written this file again
    treated, metrics = evaluation.treat(raw, corpus.splits, corpus.unseen)
    (folder / "raw").mkdir(parents=True, exist_ok=True)
    for place, arrays in ((folder / "raw", raw), (folder, treated)):
        for split, array in arrays.items():
            if array.shape != corpus.ids(split).shape or not np.isfinite(array).all():
                raise ValueError(f"{place}: log-probabilities of shape {array.shape} for {split}, or not all finite")
            np.save(place / f"{split}.npy", array.astype(np.float32))
    write_json(folder / "metrics.json", metrics | (figures or {}))
    # Without test, which is for the report.
    log.info("%s: validation %.2f, corrected for unseen words", folder, metrics["valid_corrected"])
    return metrics


def read_metrics(folder: Path) -> dict[str, float]:
    """The metrics.json that write_predictions wrote. Raises InputError where an earlier version did, by other names."""
    metrics = read_json(folder / "metrics.json")
    if "correction" not in metrics:
        raise InputError(f"{folder / 'metrics.json'} was made by an earlier version: make it again")
    return metrics


def read_raw(folder: Path, corpus: Corpus) -> dict[str, np.ndarray]:
    """The uncorrected natural-log probabilities (T,) of a model on valid and test. Raises InputError as
    read_predictions does, and for a model of another corpus."""
    check_corpus(read(folder), folder, corpus)
    return {split: read_predictions(folder, f"raw/{split}", len(corpus.ids(split))) for split in ("valid", "test")}


def read_predictions(folder: str | Path, split: str, tokens: int) -> np.ndarray:
    """The natural-log probabilities (T,) float32 of a split. split: valid, test, raw/train, raw/valid or raw/test.

    Raises InputError if the array is missing, or does not hold one log-probability for each of `tokens` tokens.
    """
    path = Path(folder) / f"{split}.npy"
    array = read_array(path)
    fits = array.shape == (tokens,) and array.dtype == np.float32
    if not fits or not (np.isfinite(array) & (array <= ABOVE)).all():
        raise InputError(
            f"{path} holds {array.dtype} of shape {array.shape}, or numbers that are no logarithms of probabilities, "
            f"for {tokens:,} tokens: make it again"
        )
    return array


def folder_of(name: str, places: Sequence[str | Path], stage: str = "") -> Path:
    """The folder of a model by its name (`mlp1/2`, or `mlp1` for seed 0), in the first of the places that has it.

    stage: the DVC stage that makes it, for the message. Raises InputError if no place has it.
    """
    subfolder = name if "/" in name else f"{name}/0"
    for place in places:
        if Path(place, subfolder).is_dir():
            return Path(place, subfolder)
    advice = f"run `dvc repro {stage}`"
    if not stage:
        listed = f"dvc stage list --name-only dvc.yaml experiments/*/dvc.yaml | grep {Path(subfolder).parent}"
        advice = f"run the stage that makes it; `{listed}` names it"
    raise InputError(f"no predictions of {subfolder} in {', '.join(map(str, places))}: {advice}")
