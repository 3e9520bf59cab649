"""Any model of the pipeline by name, ready for new text: networks from their weights, n-grams counted again from the
training ids (a second or two), mixtures from their components. How each was made stands in its run.json."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from tqdm import tqdm

from pipeline.config.ngram import Ngram
from pipeline.core.common import evaluation, mixture
from pipeline.core.ngrams import bins, build, counts, interpolated
from pipeline.core.ngrams.cache import Cache
from pipeline.data import ngrams, record
from pipeline.data.corpus import Corpus
from pipeline.data.errors import InputError
from pipeline.data.files import read_json
from pipeline.running import paper

if TYPE_CHECKING:  # n-grams don't wait for torch
    from pipeline.core.networks.base import Network

TABLES = tuple(Path("predictions", table) for table in ("table1", "beyond", "later"))  # the first that has a model
CLUSTERS = Path("clusters/brown")
STAGES = ("train", "ngram", "mix")  # whose results are models


class LanguageModel(Protocol):
    """A language model over the ids of a vocabulary."""

    def log_probabilities(self, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """Natural-log probability (T,) of each of `ids` (T,), of which `before` are the words before."""

    def next(self, before: np.ndarray) -> np.ndarray:
        """Natural-log probability (V,) of each word after the words `before`."""


@dataclass(frozen=True)
class NgramModel:
    """A counted model."""

    counted: build.Model
    words: int  # of the vocabulary

    def log_probabilities(self, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
        return self.counted.log_probabilities(before, ids)

    def next(self, before: np.ndarray) -> np.ndarray:
        if isinstance(self.counted, Cache):  # it would hold the other words of the stream below
            return self.counted.next(before)
        # One stream in which each word of the vocabulary stands after the same context.
        context = before[len(before) - min(self.counted.order - 1, len(before)) :]
        stream = np.concatenate([np.tile(context, (self.words, 1)), np.arange(self.words)[:, None]], 1)
        return self.counted.log_probabilities(before[:0], stream.ravel())[len(context) :: len(context) + 1]


@dataclass(frozen=True)
class NetworkModel:
    """A trained network. One that reads in order would read all the marks that fill up the words before a text."""

    network: "Network"
    mark: int

    def log_probabilities(self, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
        with tqdm(total=len(ids), unit="w", unit_scale=True, desc="scoring", delay=1, disable=None) as bar:
            return self.network.score(ids, self._context(before), self.mark, progress=bar.update)

    def next(self, before: np.ndarray) -> np.ndarray:
        return self.network.next(self._context(before), self.mark)

    def _context(self, before: np.ndarray) -> np.ndarray:
        return np.trim_zeros(before - self.mark, "f") + self.mark if self.network.in_order else before


@dataclass(frozen=True)
class Treated:
    """A model with its share for words that training never shows."""

    model: LanguageModel
    unseen: np.ndarray
    share: float

    def log_probabilities(self, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
        return self.treated(self.model.log_probabilities(before, ids), ids)

    def treated(self, raw: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """What the model itself gave some ids (T,), with the share."""
        return evaluation.apply_share(raw, ids, self.unseen, self.share)

    def next(self, before: np.ndarray) -> np.ndarray:
        every = np.arange(len(self.unseen))
        return self.treated(self.model.next(before), every)


@dataclass(frozen=True)
class Mixture:
    """Models mixed with one set of weights, or one for each bin of the context's frequency."""

    models: list[LanguageModel]
    weights: np.ndarray | bins.BinWeights
    counts: counts.Counts | None  # of the training part, for the bins

    def log_probabilities(self, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
        parts = np.stack([model.log_probabilities(before, ids) for model in self.models])
        if self.counts is None:
            return mixture.mix(parts, self.weights)
        return bins.mix(parts, interpolated.context_bins(self.counts, before, ids), self.weights)

    def next(self, before: np.ndarray) -> np.ndarray:
        weights = self.weights
        if self.counts is not None:
            place = np.zeros(1, dtype=np.int64)
            weights = weights.of(interpolated.context_bins(self.counts, before, place))[0]
        return mixture.mix(np.stack([model.next(before) for model in self.models]), weights)


def find(name: str, corpus: Corpus, tables: Sequence[str | Path]) -> tuple[Path, record.Record]:
    """The folder and the run of a model named `mlp1/2`, or `mlp1` for seed 0, in the first of the tables that has it.
    The paper's name of a row, such as `MLP2`, will do.

    Raises InputError where none has it, with the models that are there, or where it is of another corpus.
    """
    tables, name = [Path(table) for table in tables], paper.model_of(name)
    for table in tables:
        folder = table / (name if "/" in name else f"{name}/0")
        if (folder / record.FILE).is_file():
            made = record.read(folder)
            record.check_corpus(made, folder, corpus)
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


def load(
    name: str, corpus: Corpus, tables: Sequence[str | Path] = TABLES, clusters: str | Path = CLUSTERS
) -> LanguageModel:
    """A model by its name; see find. clusters: folder with <number of classes>/classes.csv.

    Raises InputError as find does, and for what gives no probabilities of new text.
    """
    folder, _ = find(name, corpus, tables)
    model = _without_share(name, corpus, tables, clusters)
    return Treated(model, corpus.unseen, read_json(folder / "metrics.json")["share"])


def _without_share(name: str, corpus: Corpus, tables: Sequence[Path], clusters: Path) -> LanguageModel:
    folder, made = find(name, corpus, tables)
    if made.stage == "mix":
        parts = made.config["mix"]["components"]
        models = [_without_share(part, corpus, tables, clusters) for part in parts]
        return _mixture(models, parts, folder / "weights.json", corpus)
    if made.stage == "train":
        from pipeline.data.weights import read_network

        return NetworkModel(read_network(folder, len(corpus.vocabulary)), corpus.mark)
    if made.stage == "ngram":
        try:
            with tqdm(desc=f"counting for {made.name}", bar_format="{desc}", leave=False, disable=None):
                counted = ngrams.fit(Ngram.model_validate(made.config["ngram"]), corpus, clusters)
        except InputError as error:
            raise InputError(f"{folder} can't be counted again: {error}") from error
        return NgramModel(counted, len(corpus.vocabulary))
    raise InputError(f"{folder} can't be loaded: it holds a result of the stage {made.stage}, and no model")


def _mixture(models: list[LanguageModel], names: list[str], file: Path, corpus: Corpus) -> Mixture:
    weights = read_json(file)
    if list(weights) == names:
        return Mixture(models, np.array(list(weights.values())), None)
    try:
        fitted = {int(q): np.array([a[name] for name in names]) for q, a in weights.items() if q != "everywhere"}
        everywhere = np.array([weights["everywhere"][name] for name in names])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{file} has no weights of {', '.join(names)}: mix again") from error
    counted = counts.count(corpus.train, interpolated.ORDER - 1, len(corpus.vocabulary))
    return Mixture(models, bins.BinWeights(fitted, everywhere), counted)
