"""The arrays that a model leaves: the natural-log probability of every token of a split."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from pipeline.core.common import evaluation
from pipeline.core.common.errors import InputError
from pipeline.data.corpus import Corpus
from pipeline.data.files import read_array, write_json
from pipeline.data.record import FILE, check_corpus, read

log = logging.getLogger(__name__)

READINGS = {"raw": "raw/{}", "with share": "{}"}  # the array of a split
ABOVE = 1e-4  # how far above 0 rounding may put the logarithm of a probability


def write_predictions(
    folder: Path, corpus: Corpus, raw: dict[str, np.ndarray], more: Mapping[str, float] | None = None
) -> dict[str, float]:
    """The arrays of a model: `raw/<split>.npy` as given, `valid.npy` and `test.npy` with the share for unseen words,
    fitted on validation. Returns perplexities and share, which also stand in metrics.json.

    raw: natural-log probability (T,) of every token of valid and test, and of train where it was computed; more: other
    figures for metrics.json.
    """
    (folder / FILE).unlink(missing_ok=True)  # the folder is whole again when its stage has written this again
    treated, metrics = evaluation.treat(raw, corpus.splits, corpus.unseen)
    (folder / "raw").mkdir(parents=True, exist_ok=True)
    for place, arrays in ((folder / "raw", raw), (folder, treated)):
        for split, array in arrays.items():
            if array.shape != corpus.ids(split).shape or not np.isfinite(array).all():
                raise ValueError(f"{place}: log-probabilities of shape {array.shape} for {split}, or not all finite")
            np.save(place / f"{split}.npy", array.astype(np.float32))
    write_json(folder / "metrics.json", metrics | (more or {}))
    log.info("%s: validation %.2f with share", folder, metrics["valid"])  # test is for the report
    return metrics


def read_raw(folder: Path, corpus: Corpus) -> dict[str, np.ndarray]:
    """A model's own natural-log probabilities (T,) of valid and test. Raises InputError as read_predictions does, and
    for a model of another corpus."""
    check_corpus(read(folder), folder, corpus)
    return {split: read_predictions(folder, f"raw/{split}", len(corpus.ids(split))) for split in ("valid", "test")}


def read_predictions(folder: str | Path, split: str, tokens: int) -> np.ndarray:
    """Natural-log probabilities (T,) float32 of so many tokens. split: valid, test, raw/train, raw/valid or raw/test.

    Raises InputError where they are not there, or are not logarithms of probabilities, one for each token.
    """
    path = Path(folder) / f"{split}.npy"
    array = read_array(path)
    fit = array.shape == (tokens,) and array.dtype == np.float32
    if not fit or not (np.isfinite(array) & (array <= ABOVE)).all():
        raise InputError(
            f"{path} holds {array.dtype} of shape {array.shape}, or numbers that are no logarithms of probabilities, "
            f"for {tokens:,} tokens: make it again"
        )
    return array


def folder_of(name: str, places: Sequence[str | Path], stage: str = "") -> Path:
    """The folder of a model by its name, `mlp1/2`, or `mlp1` for seed 0, in the first of these places that has it.

    stage: what makes it, for the error. Raises InputError where it is in none.
    """
    inside = name if "/" in name else f"{name}/0"
    for place in places:
        if Path(place, inside).is_dir():
            return Path(place, inside)
    makes = f"run `dvc repro {stage}`" if stage else "run the stage that makes it"
    raise InputError(f"no predictions of {inside} in {', '.join(map(str, places))}: {makes}")
