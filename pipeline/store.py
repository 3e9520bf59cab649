"""The files between stages: what they are called, how they are read and written, and nothing else."""

import hashlib
import json
import os
import platform
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.core import evaluation
from pipeline.core.errors import InputError
from pipeline.core.symbols import TEXT

SPLITS = ("train", "valid", "test")


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

    def ids(self, split: str) -> np.ndarray:
        """The ids of a split by its name."""
        return getattr(self, split)

    def before(self, split: str) -> np.ndarray:
        """What stands before a split in the stream, enough for any context; nothing before training."""
        return {"train": self.train[:0], "valid": self.train, "test": self.valid}[split]


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends well, and vanishes when not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)  # mkstemp's files are for their owner alone
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, values: dict) -> None:
    """Indented, keys in the order given, at once or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(values, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_json(path: Path) -> dict:
    """What write_json wrote."""
    return json.loads(path.read_text(encoding="utf-8"))


def write_timing(path: Path, seconds: dict[str, float]) -> None:
    """Times and the machine they were measured on: a file that neither git nor DVC hashes."""
    machine = {"processor": platform.processor() or platform.machine(), "cores": os.cpu_count()}
    write_json(path, seconds | machine | {"python": platform.python_version()})


def digest(*arrays: np.ndarray) -> str:
    """sha256 over the bytes of arrays."""
    total = hashlib.sha256()
    for array in arrays:
        total.update(np.ascontiguousarray(array).data)
    return total.hexdigest()


def write_corpus(folder: Path, corpus: Corpus) -> None:
    """vocabulary.txt, train/valid/test.npy, texts.csv, counts.json."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocabulary.txt").write_text("\n".join(corpus.vocabulary) + "\n", encoding="utf-8")
    for split in SPLITS:
        np.save(folder / f"{split}.npy", corpus.ids(split))
    corpus.texts.to_csv(folder / "texts.csv", index=False)
    write_json(folder / "counts.json", corpus.counts)


def read_corpus(folder: str | Path) -> Corpus:
    """What write_corpus wrote. Raises InputError where it is not there."""
    folder = Path(folder)
    if not (folder / "counts.json").is_file():
        raise InputError(f"no preprocessed corpus in {folder}: run `dvc repro preprocess`, or give the folder as data=")
    return Corpus(
        vocabulary=(folder / "vocabulary.txt").read_text(encoding="utf-8").split("\n")[:-1],
        **{split: np.load(folder / f"{split}.npy") for split in SPLITS},
        texts=pd.read_csv(folder / "texts.csv", keep_default_na=False, dtype={"name": str}),
        counts=read_json(folder / "counts.json"),
    )


def write_base_predictions(folder: Path, corpus: Corpus, raw: dict[str, np.ndarray]) -> dict[str, float]:
    """The arrays of a base model: `raw/<split>.npy` as given, `valid.npy` and `test.npy` with the share for unseen
    words, fitted on validation. Returns perplexities and share, which also stand in metrics.json.

    raw: natural-log probability (T,) of every token of valid and test, and of train where it was computed.
    """
    unseen = corpus.unseen
    share = evaluation.fit_share(raw["valid"], corpus.valid, unseen)
    treated = {
        split: evaluation.apply_share(raw[split], corpus.ids(split), unseen, share) for split in ("valid", "test")
    }
    for split, array in raw.items():
        _save(folder / "raw" / f"{split}.npy", array, corpus.ids(split))
    metrics = {f"{split}_raw": evaluation.perplexity(array) for split, array in raw.items() if split != "train"}
    if "train" in raw:
        metrics["train"] = evaluation.perplexity(raw["train"])
    return _write_treated(folder, corpus, treated, {"share": share} | metrics)


def write_mixture_predictions(folder: Path, corpus: Corpus, mixed: dict[str, np.ndarray]) -> dict[str, float]:
    """The arrays of a mixture of treated arrays: `valid.npy`, `test.npy`. Returns what metrics.json holds."""
    return _write_treated(folder, corpus, mixed, {})


def _write_treated(folder: Path, corpus: Corpus, treated: dict[str, np.ndarray], more: dict) -> dict[str, float]:
    metrics = {}
    for split, array in treated.items():
        ids = corpus.ids(split)
        _save(folder / f"{split}.npy", array, ids)
        metrics[split] = evaluation.perplexity(array)
        metrics[f"{split}_seen"] = evaluation.perplexity(array[~corpus.unseen[ids]])
    write_json(folder / "metrics.json", metrics | more)
    return metrics | more


def _save(path: Path, array: np.ndarray, ids: np.ndarray) -> None:
    if array.shape != ids.shape or not np.isfinite(array).all():
        raise ValueError(f"{path}: log-probabilities of shape {array.shape} for {ids.shape} tokens, or not all finite")
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, array.astype(np.float32))


def read_predictions(folder: str | Path, split: str) -> np.ndarray:
    """Natural-log probabilities (T,) float32. split: valid, test, raw/train, raw/valid or raw/test."""
    path = Path(folder) / f"{split}.npy"
    if not path.is_file():
        raise InputError(f"no predictions in {path}: run the stage that makes them, such as `dvc repro train@mlp9-0`")
    return np.load(path)
