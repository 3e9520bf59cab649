"""The arrays that a model leaves: the natural-log probability of every token of a split."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pipeline.core.common import evaluation
from pipeline.data.corpus import Corpus
from pipeline.data.errors import InputError
from pipeline.data.files import read_array, write_json
from pipeline.data.record import FILE

ABOVE = 1e-4  # how far above 0 rounding may put the logarithm of a probability


def write_predictions(folder: Path, corpus: Corpus, raw: dict[str, np.ndarray]) -> dict[str, float]:
    """The arrays of a model: `raw/<split>.npy` as given, `valid.npy` and `test.npy` with the share for unseen words,
    fitted on validation. Returns perplexities and share, which also stand in metrics.json.

    raw: natural-log probability (T,) of every token of valid and test, and of train where it was computed.
    """
    (folder / FILE).unlink(missing_ok=True)  # the folder is whole again when its stage has written this again
    treated, metrics = evaluation.treat(raw, corpus.splits, corpus.unseen)
    for place, arrays in (("raw", raw), ("", treated)):
        for split, array in arrays.items():
            _save(folder / place / f"{split}.npy", array, corpus.ids(split))
    write_json(folder / "metrics.json", metrics)
    return metrics


def _save(path: Path, array: np.ndarray, ids: np.ndarray) -> None:
    if array.shape != ids.shape or not np.isfinite(array).all():
        raise ValueError(f"{path}: log-probabilities of shape {array.shape} for {ids.shape} tokens, or not all finite")
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, array.astype(np.float32))


def read_predictions(folder: str | Path, split: str, tokens: int) -> np.ndarray:
    """Natural-log probabilities (T,) float32 of so many tokens. split: valid, test, raw/train, raw/valid or raw/test.

    Raises InputError where they are not there, or are not logarithms of probabilities, one for each token.
    """
    path = Path(folder) / f"{split}.npy"
    if not path.is_file():
        raise InputError(f"no predictions in {path}: run the stage that makes them, such as `dvc repro train@mlp9-0`")
    array = read_array(path)
    if array.shape != (tokens,) or array.dtype != np.float32:
        raise InputError(f"{path} holds {array.dtype} of shape {array.shape} for {tokens:,} tokens: make it again")
    if not (np.isfinite(array) & (array <= ABOVE)).all():
        raise InputError(f"{path} holds what is no logarithm of a probability: make it again")
    return array


def folder_of(name: str, places: Sequence[str | Path], stage: str = "") -> Path:
    """The folder of a model by its name, `mlp1/2`, or `mlp1` for seed 0, in the first of these places that has it.

    stage: what makes it, for the error. Raises InputError where it is in none.
    """
    inside = name if "/" in name else f"{name}/0"
    there = [Path(place, inside) for place in places if Path(place, inside).is_dir()]
    if not there:
        makes = f"run `dvc repro {stage}`" if stage else "run the stage that makes it"
        raise InputError(f"no predictions of {inside} in {', '.join(map(str, places))}: {makes}")
    return there[0]
