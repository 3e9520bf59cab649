"""A corpus as the stage preprocess writes it: ids, vocabulary, texts, counts."""

import hashlib
import io
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pipeline.core.common import evaluation, stream
from pipeline.core.common.errors import InputError
from pipeline.core.common.stream import SPLITS, TEXT, digest
from pipeline.data.files import read_array, read_json, write_json

if TYPE_CHECKING:  # pandas takes half a second to import, and only reports look at the texts
    import pandas as pd

COUNTS = "counts.json"
DIGESTED = ("vocabulary.txt", "texts.csv")  # counts.json has their digests, beside the digest of the ids


@dataclass(frozen=True)
class Corpus:
    """A preprocessed corpus: vocabulary (the id of a word is its place), ids of each split, texts.csv and counts."""

    vocabulary: list[str]
    train: np.ndarray
    valid: np.ndarray
    test: np.ndarray
    texts_csv: str
    counts: dict

    @cached_property
    def texts(self) -> "pd.DataFrame":
        """The texts: name, genre, first token, end, split."""
        import pandas as pd

        return pd.read_csv(io.StringIO(self.texts_csv), keep_default_na=False, dtype={"name": str})

    @property
    def mark(self) -> int:
        """The id of the text mark."""
        return self.vocabulary.index(TEXT)

    @property
    def unseen(self) -> np.ndarray:
        """Mask (V,) of the words that do not occur in training."""
        return evaluation.unseen_words(self.train, len(self.vocabulary))

    @property
    def splits(self) -> dict[str, np.ndarray]:
        """The ids (T,) of each split by its name."""
        return {split: self.ids(split) for split in SPLITS}

    def ids(self, split: str) -> np.ndarray:
        """The ids of a split by its name."""
        return getattr(self, split)

    def before(self, split: str) -> np.ndarray:
        """The ids before a split in the stream, enough for any context; none before training."""
        return stream.before(self.splits, split)


def write_corpus(folder: Path, corpus: Corpus) -> None:
    """Writes vocabulary.txt, train/valid/test.npy and texts.csv, and last counts.json with digests of all of them: if
    it exists, the corpus is complete."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / COUNTS).unlink(missing_ok=True)
    (folder / "vocabulary.txt").write_text("\n".join(corpus.vocabulary) + "\n", encoding="utf-8")
    for split in SPLITS:
        np.save(folder / f"{split}.npy", corpus.ids(split))
    (folder / "texts.csv").write_text(corpus.texts_csv, encoding="utf-8")
    write_json(folder / COUNTS, corpus.counts | {"files": {name: _digest(folder / name) for name in DIGESTED}})


def read_corpus(folder: str | Path) -> Corpus:
    """The corpus that write_corpus wrote. Raises InputError if it is missing or was changed."""
    folder = Path(folder)
    if not (folder / COUNTS).is_file():
        raise InputError(f"no preprocessed corpus in {folder}: run `dvc repro preprocess`, or give the folder as data=")
    try:
        counts = read_json(folder / COUNTS)
        for name in DIGESTED:
            if counts["files"][name] != _digest(folder / name):
                raise ValueError(f"{name} was changed")
        ids = {split: read_array(folder / f"{split}.npy") for split in SPLITS}
        ends = np.cumsum([0, *map(len, ids.values())])
        if digest(*ids.values()) != counts["digest"] or ends.tolist() != counts["boundaries"]:
            raise ValueError("the ids were changed")
        vocabulary = (folder / "vocabulary.txt").read_text(encoding="utf-8").split("\n")[:-1]
        texts = (folder / "texts.csv").read_text(encoding="utf-8")
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"the corpus in {folder} is not as preprocess wrote it: {error}; run preprocess again"
        raise InputError(message) from error
    return Corpus(vocabulary, **ids, texts_csv=texts, counts=counts)


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
