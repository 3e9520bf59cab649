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
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        table.to_csv(temporary, index=False)


def read(path: Path, vocabulary: list[str]) -> np.ndarray:
    """The class (V,) of each word of the vocabulary. Raises InputError where file and vocabulary don't fit."""
    if not path.is_file():
        raise InputError(f"no word classes in {path}: run the stage that makes them, such as `dvc repro cluster@500`")
    try:
        table = pd.read_csv(path, keep_default_na=False).set_index("word")["class"]
    except (KeyError, ValueError) as error:  # pandas' own errors are ValueErrors
        raise InputError(f"{path} is no file of word classes ({error}): cluster again") from error
    whole = table.index.is_unique and set(table.index) == set(vocabulary)
    if not whole or not pd.api.types.is_integer_dtype(table) or table.min() < 0:
        raise InputError(f"{path}: not the classes of this vocabulary of {len(vocabulary):,} words; cluster again")
    return table.loc[vocabulary].to_numpy()
