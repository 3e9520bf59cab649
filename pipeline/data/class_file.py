"""The file of word classes: classes.csv, a line for each word, to be read by people too."""

from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.data.errors import InputError
from pipeline.data.files import replacing


def write(path: Path, classes: np.ndarray, vocabulary: list[str], frequency: np.ndarray) -> None:
    """class, word, frequency (in training); the classes in order, the most frequent words of each first."""
    table = pd.DataFrame({"class": classes, "word": vocabulary, "frequency": frequency})
    table = table.sort_values(["class", "frequency", "word"], ascending=[True, False, True], kind="stable")
    with replacing(path) as temporary:
        table.to_csv(temporary, index=False)


def read(path: Path, vocabulary: list[str]) -> np.ndarray:
    """The class (V,) of each word of the vocabulary. Raises InputError where the file does not say them."""
    try:
        classes = pd.read_csv(path, keep_default_na=False).set_index("word")["class"]
        numbers = pd.api.types.is_integer_dtype(classes) and classes.min() >= 0
        fit = numbers and sorted(classes.index) == sorted(vocabulary)
    except (OSError, KeyError, ValueError):  # pandas' own errors are ValueErrors
        fit = False
    if not fit:
        raise InputError(
            f"{path}: not there, or not the classes of this vocabulary of {len(vocabulary):,} words; run the stage "
            "that makes them, such as `dvc repro cluster@500`"
        )
    return classes.loc[vocabulary].to_numpy()
