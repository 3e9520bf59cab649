"""A corpus as the stage preprocess writes it: ids, vocabulary, texts, counts."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.core.common import evaluation, stream
from pipeline.core.common.errors import InputError
from pipeline.core.common.stream import SPLITS, TEXT, digest
from pipeline.data.files import read_array, read_json, write_json

COUNTS = "counts.json"
DIGESTED = ("vocabulary.txt", "texts.csv")  # counts.json has their digests, beside the digest of the ids


@dataclass(frozen=True)
class Corpus:
    """A preprocessed corpus: vocabulary (the id of a word is its place), ids of each split, texts and counts."""

    vocabulary: list[str]
    train: np.ndarray
    valid: np.ndarray
    test: np.ndarray
    texts: pd.DataFrame
    counts: dict

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
    corpus.texts.to_csv(folder / "texts.csv", index=False)
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
        texts = pd.read_csv(folder / "texts.csv", keep_default_na=False, dtype={"name": str})
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"the corpus in {folder} is not as preprocess wrote it: {error}; run preprocess again"
        raise InputError(message) from error
    return Corpus(vocabulary, **ids, texts=texts, counts=counts)


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
