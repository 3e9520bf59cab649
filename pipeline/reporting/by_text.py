"""Log-probabilities summed over each text of a split: what intervals are made of."""

from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.data.corpus import Corpus
from pipeline.data.predictions import read_predictions
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


def sums(texts: pd.DataFrame, folders: list[Path], array: str) -> np.ndarray:
    """A model's log-probability of each text by each seed, (seeds, texts); array: as read_predictions has it."""
    first, tokens = texts["first"].to_numpy(), int(texts["tokens"].sum())
    return np.stack([resampling.text_sums(read_predictions(folder, array, tokens), first) for folder in folders])
