"""A corpus as `preprocess` leaves it: ids, vocabulary, texts, counts."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.core.common import evaluation, splits
from pipeline.core.common.splits import SPLITS
from pipeline.core.common.symbols import TEXT
from pipeline.core.text.build import digest
from pipeline.data.errors import InputError
from pipeline.data.files import read_array, read_json, write_json

COUNTS = "counts.json"
WRITTEN = ("vocabulary.txt", "texts.csv")  # files whose digests stand in counts.json beside that of the ids


@dataclass(frozen=True)
class Corpus:
    """What `preprocess` wrote: the vocabulary (place = id), the ids of each split, the texts, the counts."""

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
        """Mask (V,) of the words that training never shows."""
        return evaluation.unseen_words(self.train, len(self.vocabulary))

    @property
    def splits(self) -> dict[str, np.ndarray]:
        """The ids (T,) of each split by its name."""
        return {split: self.ids(split) for split in SPLITS}

    def ids(self, split: str) -> np.ndarray:
        """The ids of a split by its name."""
        return getattr(self, split)

    def before(self, split: str) -> np.ndarray:
        """What stands before a split in the stream, enough for any context; nothing before training."""
        return splits.before(self.splits, split)


def write_corpus(folder: Path, corpus: Corpus) -> None:
    """vocabulary.txt, train/valid/test.npy, texts.csv; and counts.json with digests of all of them, which says that all
    are there."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / COUNTS).unlink(missing_ok=True)
    (folder / "vocabulary.txt").write_text("\n".join(corpus.vocabulary) + "\n", encoding="utf-8")
    for split in SPLITS:
        np.save(folder / f"{split}.npy", corpus.ids(split))
    corpus.texts.to_csv(folder / "texts.csv", index=False)
    write_json(folder / COUNTS, corpus.counts | {"files": {name: _digest(folder / name) for name in WRITTEN}})


def read_corpus(folder: str | Path) -> Corpus:
    """What write_corpus wrote. Raises InputError where it is not there, or not as it was written."""
    folder = Path(folder)
    if not (folder / COUNTS).is_file():
        raise InputError(f"no preprocessed corpus in {folder}: run `dvc repro preprocess`, or give the folder as data=")
    try:
        counts = read_json(folder / COUNTS)
        if "files" not in counts:
            raise InputError(f"{COUNTS} is of an older state of the code")
        for name in WRITTEN:
            if counts["files"][name] != _digest(folder / name):
                raise InputError(f"{name} was changed")
        corpus = Corpus(
            vocabulary=(folder / "vocabulary.txt").read_text(encoding="utf-8").split("\n")[:-1],
            **{split: read_array(folder / f"{split}.npy") for split in SPLITS},
            texts=pd.read_csv(folder / "texts.csv", keep_default_na=False, dtype={"name": str}),
            counts=counts,
        )
        fault = _fault(corpus)
    except (InputError, OSError, ValueError, KeyError, TypeError) as error:  # pandas' and UTF-8's are ValueErrors
        fault = str(error)
    if fault:
        raise InputError(f"the corpus in {folder} is not as preprocess wrote it: {fault}; run preprocess again")
    return corpus


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _fault(corpus: Corpus) -> str:
    """What of a corpus does not fit the rest; '' where all fits."""
    splits = [corpus.ids(split) for split in SPLITS]
    for name, ids in zip(SPLITS, splits, strict=True):
        if ids.ndim != 1 or ids.dtype != np.int32:
            return f"{name}.npy holds {ids.dtype} of shape {ids.shape}"
    if [len(ids) for ids in splits] != np.diff(corpus.counts["boundaries"]).tolist():
        return "a split is longer or shorter"
    if digest(*splits) != corpus.counts["digest"]:
        return f"the ids are not those whose digest {COUNTS} has"
    return ""
