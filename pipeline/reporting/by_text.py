"""Log-probabilities summed over each text of a split: what intervals are made of."""

from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.data.corpus import Corpus
from pipeline.data.predictions import folder_of, read_predictions
from pipeline.reporting import resampling


def texts_of(corpus: Corpus, split: str) -> pd.DataFrame:
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


def folders(name: str, places: list[str], seeds: list[int]) -> list[Path]:
    """The folder of each of these seeds of a model; of one that has seed 0 alone, that one; of NAME/SEED its own.

    Raises InputError where one is missing.
    """
    if "/" in name:
        return [folder_of(name, places)]
    return [folder_of(f"{name}/{seed}", places) for seed in ([0] if _seeds_of(name, places) == [0] else seeds)]


def sums(texts: pd.DataFrame, folders: list[Path], split: str) -> np.ndarray:
    """A model's treated log-probability of each text, (number of texts,), the mean over its folders."""
    first = texts["first"].to_numpy()
    return np.mean([resampling.text_sums(read_predictions(folder, split), first) for folder in folders], axis=0)


def train_sums(texts: pd.DataFrame, folder: Path) -> np.ndarray:
    """A model's raw log-probability of each training text; NaN for a model that training was not scored by."""
    if not (folder / "raw" / "train.npy").is_file():
        return np.full(len(texts), np.nan)
    return resampling.text_sums(read_predictions(folder, "raw/train"), texts["first"].to_numpy())


def _seeds_of(name: str, places: list[str]) -> list[int]:
    """The seeds of which a model has results, in the first of these places that has any."""
    for place in places:
        found = [int(folder.name) for folder in Path(place, name).glob("[0-9]*") if folder.name.isdecimal()]
        if found:
            return sorted(found)
    return []
