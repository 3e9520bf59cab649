"""Loads any model of the pipeline by name, to score new text. A network is read from its weights, an n-gram is counted
again from the training ids (a second or two), a mixture is built from its components. The run.json of each model says
how it was made."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from tqdm import tqdm

from pipeline.config.ngram import NgramModel
from pipeline.core.common.errors import InputError
from pipeline.core.ngrams import bins, counts
from pipeline.data import ngrams
from pipeline.data import record as records
from pipeline.data.corpus import Corpus
from pipeline.data.files import read_json
from pipeline.running import paper

if TYPE_CHECKING:  # so that n-grams need no torch
    from pipeline.core.networks.base import Network

# Folders in which a model is looked for, in this order.
TABLES = tuple(Path("predictions", table) for table in ("table1", "beyond", "later", "window", "cache"))
STAGES = ("train", "ngram", "mix")  # stages whose results are models


class LanguageModel(Protocol):
    """A language model over the ids of a vocabulary. Each n-gram model has this interface."""

    def log_probabilities(self, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """Natural-log probability (T,) of each of the `ids` (T,). before: the ids that precede them."""

    def next(self, before: np.ndarray) -> np.ndarray:
        """Natural-log probability (V,) of each word after the ids `before`."""


@dataclass(frozen=True)
class NetworkModel:
    """A trained network. mark: the id of the text mark, which fills a context that is too short."""

    network: "Network"
    mark: int

    def log_probabilities(self, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
        with tqdm(total=len(ids), unit="w", unit_scale=True, desc="scoring", delay=1, disable=None) as bar:
            return self.network.score(ids, before=before, mark=self.mark, progress=bar.update)

    def next(self, before: np.ndarray) -> np.ndarray:
        return self.network.next(before, self.mark)


@dataclass(frozen=True)
class Mixture:
    """A mixture of models with one set of weights, or with one set for each bin of the context's frequency."""

    models: list[LanguageModel]
    weights: bins.BinWeights
    counts: counts.Counts | None  # of the training part, for the bins; None with one set of weights

    def log_probabilities(self, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
        parts = np.stack([model.log_probabilities(before, ids) for model in self.models])
        return bins.mix(parts, self._bins(before, ids), self.weights)

    def next(self, before: np.ndarray) -> np.ndarray:
        parts = np.stack([model.next(before) for model in self.models])  # (K, V)
        following = np.zeros(1, dtype=np.int64)  # any word: the bin depends only on its context
        return bins.mix(parts, self._bins(before, following).repeat(parts.shape[1]), self.weights)

    def _bins(self, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """The bin (T,) of the context of each of the `ids` (T,)."""
        if self.counts is None:
            return np.zeros(len(ids), dtype=np.int64)
        return bins.context_bins(self.counts, before, ids)


def log_probabilities_of_texts(
    model: LanguageModel, before: np.ndarray, texts: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """Natural-log probability (T,) of each id of several texts, each read by itself after the ids `before`. A network
    that reads a window scores all texts together, which uses the processor better than text by text."""
    if isinstance(model, Mixture):
        by_model = [log_probabilities_of_texts(part, before, texts) for part in model.models]
        return [
            bins.mix(np.stack(parts), model._bins(before, ids), model.weights)
            for ids, *parts in zip(texts, *by_model, strict=True)
        ]
    if isinstance(model, NetworkModel) and not model.network.in_order:
        from pipeline.core.networks.base import contexts, score

        n = model.network.architecture.n
        windows = np.concatenate([contexts(ids, before=before, n=n, mark=model.mark) for ids in texts])
        log_p = score(model.network, context=windows, target=np.concatenate(texts))
        return np.split(log_p, np.cumsum([len(ids) for ids in texts])[:-1])
    return [model.log_probabilities(before, ids) for ids in texts]


def find(name: str, corpus: Corpus, tables: Sequence[Path]) -> tuple[Path, records.Record]:
    """The folder and the record of a model named `mlp1/2`, or `mlp1` for seed 0, in the first of the tables that has
    it. The paper's name of a row, such as `MLP2`, works too, and so does the path of a result's folder.

    Raises InputError if no table has the model (the message lists the existing models), or if it is not a model of this
    corpus.
    """
    name = paper.model_of(name)
    place = name if "/" in name else f"{name}/0"
    for folder in (*(table / place for table in tables), Path(name)):
        if (folder / records.FILE).is_file():
            record = records.read(folder)
            records.check_corpus(record, folder, corpus)
            if record.stage not in STAGES:
                raise InputError(
                    f"{folder} can't be loaded: it holds a result of the stage {record.stage}, and no model"
                )
            return folder, record
    files = (path for table in tables for path in sorted(table.glob(f"*/*/{records.FILE}")))
    models = dict.fromkeys(path.parts[-3] for path in files if records.read(path.parent).stage in STAGES)
    similar = get_close_matches(name, models)
    question = f"did you mean {', '.join(similar)}? " if similar else ""
    raise InputError(
        f"no model {name!r} in {', '.join(map(str, tables))}; {question}"
        f"there are: {', '.join(models) or 'none, run `make repro`, or give the folder of a result'}"
    )


def folders(name: str, corpus: Corpus, tables: Sequence[Path]) -> dict[str, Path]:
    """The folders, by name, that are needed to load a model: its folder, and those of the components of a mixture."""
    folder, record = find(name, corpus, tables)
    folders_by_name = {name: folder}
    for component in record.config["mix"]["components"] if record.stage == "mix" else []:
        folders_by_name |= folders(component, corpus, tables_of_components(folder, tables))
    return folders_by_name


def tables_of_components(mixture: Path, tables: Sequence[Path]) -> list[Path]:
    """The tables in which a mixture's components are looked for: first its own, as stages of one table mix its models
    before those of other tables."""
    return [mixture.parent.parent, *tables]


def load(name: str, corpus: Corpus, tables: Sequence[Path], clusters: Path) -> LanguageModel:
    """A model by its name, uncorrected for unseen words. clusters: folder with <number of classes>/classes.csv.

    Raises InputError as find does, and for files that are damaged or missing.
    """
    folder, record = find(name, corpus, tables)
    if record.stage == "train":
        from pipeline.data.weights import read_network

        return NetworkModel(read_network(folder, len(corpus.vocabulary)), corpus.mark)
    if record.stage == "ngram":
        return ngrams.fit(NgramModel.model_validate(record.config["ngram"]), corpus, clusters)
    components = record.config["mix"]["components"]
    tables = tables_of_components(folder, tables)
    models = [load(component, corpus, tables=tables, clusters=clusters) for component in components]
    return _mixture(models, names=components, file=folder / "weights.json", corpus=corpus)


def _mixture(models: list[LanguageModel], names: list[str], file: Path, corpus: Corpus) -> Mixture:
    """The mixture of some models with the weights in a file. Raises InputError if the weights are not theirs."""
    weights = read_json(file)
    by_frequency = "everywhere" in weights
    try:
        sets = weights if by_frequency else {"everywhere": weights}
        arrays = {q: np.array([a[name] for name in names], dtype=float) for q, a in sets.items()}
        everywhere = arrays.pop("everywhere")
        by_bin = bins.BinWeights({int(q): a for q, a in arrays.items()}, everywhere)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{file} has no weights of {', '.join(names)}: mix again") from error
    counted = counts.count(corpus.train, 2, len(corpus.vocabulary)) if by_frequency else None
    return Mixture(models, by_bin, counted)
