"""Any model of the pipeline by name, ready for new text: networks from their weights, n-grams counted again from the
training ids (a second or two), mixtures from their components. How each was made stands in its run.json."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from tqdm import tqdm

from pipeline.config.ngram import NgramModel
from pipeline.core.common.errors import InputError
from pipeline.core.ngrams import bins, counts
from pipeline.data import ngrams, record
from pipeline.data.corpus import Corpus
from pipeline.data.files import read_json
from pipeline.running import paper

if TYPE_CHECKING:  # n-grams don't wait for torch
    from pipeline.core.networks.base import Network

# the first that has a model
TABLES = tuple(Path("predictions", table) for table in ("table1", "beyond", "later", "window", "cache"))
STAGES = ("train", "ngram", "mix")  # whose results are models


class LanguageModel(Protocol):
    """A language model over the ids of a vocabulary, as each n-gram model is one."""

    def log_probabilities(self, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """Natural-log probability (T,) of each of `ids` (T,), of which `before` are the words before."""

    def next(self, before: np.ndarray) -> np.ndarray:
        """Natural-log probability (V,) of each word after the words `before`."""


@dataclass(frozen=True)
class NetworkModel:
    """A trained network; mark: the id of the text mark, which fills up a context."""

    network: "Network"
    mark: int

    def log_probabilities(self, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
        with tqdm(total=len(ids), unit="w", unit_scale=True, desc="scoring", delay=1, disable=None) as bar:
            return self.network.score(ids, before, self.mark, progress=bar.update)

    def next(self, before: np.ndarray) -> np.ndarray:
        return self.network.next(before, self.mark)


@dataclass(frozen=True)
class Mixture:
    """Models mixed with one set of weights, or one for each bin of the context's frequency."""

    models: list[LanguageModel]
    weights: bins.BinWeights
    counts: counts.Counts | None  # of the training part, for the bins; None: one set

    def log_probabilities(self, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
        parts = np.stack([model.log_probabilities(before, ids) for model in self.models])
        return bins.mix(parts, self._bins(before, ids), self.weights)

    def next(self, before: np.ndarray) -> np.ndarray:
        parts = np.stack([model.next(before) for model in self.models])  # (K, V)
        place = np.zeros(1, dtype=np.int64)  # to be filled
        return bins.mix(parts, self._bins(before, place).repeat(parts.shape[1]), self.weights)

    def _bins(self, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """The bin (T,) of the context of each of `ids` (T,)."""
        if self.counts is None:
            return np.zeros(len(ids), dtype=np.int64)
        return bins.context_bins(self.counts, before, ids)


def find(name: str, corpus: Corpus, tables: Sequence[Path]) -> tuple[Path, record.Record]:
    """The folder and the run of a model named `mlp1/2`, or `mlp1` for seed 0, in the first of the tables that has it.
    The paper's name of a row, such as `MLP2`, will do.

    Raises InputError where none has it, with the models that are there, or where it is no model of this corpus.
    """
    name = paper.model_of(name)
    for table in tables:
        folder = table / (name if "/" in name else f"{name}/0")
        if (folder / record.FILE).is_file():
            made = record.read(folder)
            record.check_corpus(made, folder, corpus)
            if made.stage not in STAGES:
                raise InputError(f"{folder} can't be loaded: it holds a result of the stage {made.stage}, and no model")
            return folder, made
    files = (path for table in tables for path in sorted(table.glob(f"*/*/{record.FILE}")))
    there = dict.fromkeys(path.parts[-3] for path in files if record.read(path.parent).stage in STAGES)
    raise InputError(
        f"no model {name!r} in {', '.join(map(str, tables))}; there are: {', '.join(there) or 'none, run `make repro`'}"
    )


def folders(name: str, corpus: Corpus, tables: Sequence[Path]) -> dict[str, Path]:
    """What it takes to load a model: its folder, and those of the models that it mixes, by their names."""
    folder, made = find(name, corpus, tables)
    needed = {name: folder}
    for part in made.config["mix"]["components"] if made.stage == "mix" else []:
        needed |= folders(part, corpus, tables)
    return needed


def load(name: str, corpus: Corpus, tables: Sequence[Path], clusters: Path) -> LanguageModel:
    """A model by its name, without the share for unseen words; clusters: folder with <number of classes>/classes.csv.

    Raises InputError as find does, and for files that are damaged or not there.
    """
    folder, made = find(name, corpus, tables)
    if made.stage == "train":
        from pipeline.data.weights import read_network

        return NetworkModel(read_network(folder, len(corpus.vocabulary)), corpus.mark)
    if made.stage == "ngram":
        return ngrams.fit(NgramModel.model_validate(made.config["ngram"]), corpus, clusters)
    parts = made.config["mix"]["components"]
    models = [load(part, corpus, tables, clusters) for part in parts]
    return _mixture(models, parts, folder / "weights.json", corpus)


def _mixture(models: list[LanguageModel], names: list[str], file: Path, corpus: Corpus) -> Mixture:
    weights = read_json(file)
    by_frequency = "everywhere" in weights
    try:
        sets = weights if by_frequency else {"everywhere": weights}
        fitted = {q: np.array([a[name] for name in names], dtype=float) for q, a in sets.items()}
        everywhere = fitted.pop("everywhere")
        by_bin = bins.BinWeights({int(q): a for q, a in fitted.items()}, everywhere)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{file} has no weights of {', '.join(names)}: mix again") from error
    counted = counts.count(corpus.train, 2, len(corpus.vocabulary)) if by_frequency else None
    return Mixture(models, by_bin, counted)
