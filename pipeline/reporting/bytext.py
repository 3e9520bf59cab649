"""Log-probabilities summed over each text of a split: what intervals are made of."""

from pathlib import Path

import numpy as np
import pandas as pd

from pipeline import store
from pipeline.core import statistics
from pipeline.core.errors import InputError


def texts_of(corpus: store.Corpus, split: str) -> pd.DataFrame:
    """The texts of a split in order: name, genre, first (its place in the split's stream) and tokens."""
    texts = corpus.texts[corpus.texts["split"] == split]
    return pd.DataFrame(
        {
            "name": texts["name"],
            "genre": texts["genre"],
            "first": texts["first"] - texts["first"].min(),
            "tokens": texts["end"] - texts["first"],
        }
    ).reset_index(drop=True)


def folders(predictions: Path, name: str, seeds: list[int]) -> list[Path]:
    """The folder of each seed of a model; of one that has a single seed, that one; of NAME/SEED its own.

    Raises InputError where none is there, or a part.
    """
    all_seeds = [predictions / name] if "/" in name else [predictions / name / str(seed) for seed in seeds]
    there = [folder for folder in all_seeds if folder.is_dir()]
    if there not in (all_seeds, all_seeds[:1]):
        missing = next(folder for folder in all_seeds if folder not in there)
        raise InputError(f"no predictions in {missing}: run the stage that makes {name}")
    return there


def sums(texts: pd.DataFrame, folders: list[Path], split: str) -> np.ndarray:
    """A model's treated log-probability of each text, (number of texts,), the mean over its folders."""
    first = texts["first"].to_numpy()
    return np.mean([statistics.text_sums(store.read_predictions(folder, split), first) for folder in folders], axis=0)


def train_sums(texts: pd.DataFrame, folder: Path) -> np.ndarray:
    """A model's raw log-probability of each training text; NaN for a model that training was not scored by."""
    if not (folder / "raw" / "train.npy").is_file():
        return np.full(len(texts), np.nan)
    return statistics.text_sums(store.read_predictions(folder, "raw/train"), texts["first"].to_numpy())
