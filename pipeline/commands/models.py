"""Any model of the pipeline by name, ready for new text: networks from their weights, n-grams counted again from the
training ids (a second or two), mixtures from their components."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from omegaconf import DictConfig, OmegaConf
from tqdm import tqdm

from pipeline.data import evaluation, mixture
from pipeline.data.corpus import Corpus
from pipeline.data.errors import InputError
from pipeline.data.files import read_json
from pipeline.networks.base import Network, contexts, score
from pipeline.networks.saved import folder_of, read_network
from pipeline.ngrams import bins, build, counts, interpolated
from pipeline.running.app import ROOT

CHECKED = 1000  # tokens of test, on which a model that is counted again must be the one that was made


class Model(Protocol):
    """A language model over the ids of a vocabulary."""

    def log_probabilities(self, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """Natural-log probability (T,) of each of `ids` (T,), of which `before` are the words before."""

    def next(self, before: np.ndarray) -> np.ndarray:
        """Natural-log probability (V,) of each word after the words `before`."""


@dataclass(frozen=True)
class NetworkModel:
    """A trained network."""

    network: Network
    mark: int

    def log_probabilities(self, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """See Model."""
        context = contexts(ids, before, self.network.architecture.n, self.mark)
        with tqdm(total=len(ids), unit="w", unit_scale=True, desc="scoring", delay=1, disable=None) as bar:
            return score(self.network, context, ids, bar.update)

    def next(self, before: np.ndarray) -> np.ndarray:
        """See Model."""
        empty = np.zeros(1, dtype=np.int64)  # the place to be filled
        context = contexts(empty, before.astype(np.int64), self.network.architecture.n, self.mark)
        with torch.no_grad():
            return self.network.distribution(torch.from_numpy(context.copy()))[0].numpy()


@dataclass(frozen=True)
class NgramModel:
    """A counted model."""

    model: build.Model
    words: int
    reach: int  # words of context that it looks at

    def log_probabilities(self, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """See Model."""
        return self.model.log_probabilities(before, ids)

    def next(self, before: np.ndarray) -> np.ndarray:
        """One stream in which each word of the vocabulary stands after the same context."""
        context = before[len(before) - min(self.reach, len(before)) :]
        stream = np.concatenate([np.tile(context, (self.words, 1)), np.arange(self.words)[:, None]], 1)
        return self.model.log_probabilities(before[:0], stream.ravel())[len(context) :: len(context) + 1]


@dataclass(frozen=True)
class Treated:
    """A base model with its share for words that training never shows."""

    model: Model
    unseen: np.ndarray
    share: float

    def log_probabilities(self, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """See Model."""
        return evaluation.apply_share(self.model.log_probabilities(before, ids), ids, self.unseen, self.share)

    def next(self, before: np.ndarray) -> np.ndarray:
        """See Model."""
        every = np.arange(len(self.unseen))
        return evaluation.apply_share(self.model.next(before), every, self.unseen, self.share)


@dataclass(frozen=True)
class Mixture:
    """Models mixed with one set of weights, or one for each bin of the context's frequency."""

    models: list[Model]
    weights: np.ndarray | bins.BinWeights
    counts: counts.Counts | None  # of the training part, for the bins

    def log_probabilities(self, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """See Model."""
        parts = np.stack([model.log_probabilities(before, ids) for model in self.models])
        if self.counts is None:
            return mixture.mix(parts, self.weights)
        return bins.mix(parts, interpolated.context_bins(self.counts, before, ids), self.weights)

    def next(self, before: np.ndarray) -> np.ndarray:
        """See Model."""
        weights = self.weights
        if self.counts is not None:
            place = np.zeros(1, dtype=np.int64)
            weights = weights.of(interpolated.context_bins(self.counts, before, place))[0]
        return mixture.mix(np.stack([model.next(before) for model in self.models]), weights)


def load(name: str, corpus: Corpus, predictions: Path, clusters: Path) -> Model:
    """A model by its name (see folder_of).

    Raises InputError where it has not been made.
    """
    folder = folder_of(name, predictions)
    if not (folder / "metrics.json").is_file():
        there = sorted(path.name for path in predictions.glob("*") if _made(path / "0"))
        raise InputError(f"no model {name!r} in {predictions}; there are: {', '.join(there) or 'none, run make repro'}")
    check_corpus(folder, corpus)
    if (folder / "weights.json").is_file():
        return _mixture(read_json(folder / "weights.json"), corpus, predictions, clusters)
    if (folder / "weights.safetensors").is_file():
        model = NetworkModel(read_network(folder, len(corpus.vocabulary)), corpus.mark)
    else:
        model = _ngram(folder, corpus, clusters)
    return Treated(model, corpus.unseen, read_json(folder / "metrics.json")["share"])


def _made(folder: Path) -> bool:
    """Whether a folder holds a model that can be loaded: a short list's scores can't."""
    weights = any((folder / file).is_file() for file in ("weights.json", "weights.safetensors"))
    return (folder / "metrics.json").is_file() and (weights or _options(_ngram_file(folder)) is not None)


def _ngram_file(folder: Path) -> Path:
    return ROOT / "conf" / "ngram" / f"{folder.parent.name}.yaml"


def _options(file: Path) -> DictConfig | None:
    """What an n-gram is counted by; None where no file says all of it: arpa.yaml leaves the path to the command."""
    options = OmegaConf.load(file) if file.is_file() else None
    return None if options is None or OmegaConf.missing_keys(options) else options


def check_corpus(folder: Path, corpus: Corpus) -> None:
    """Raises InputError where the model in a folder was not made from this corpus, as far as its arrays show."""
    array = folder / "test.npy"
    if array.is_file() and np.load(array, mmap_mode="r").shape != corpus.test.shape:
        raise InputError(f"{folder} was made from another corpus: give --data and --predictions of the same one")


def _ngram(folder: Path, corpus: Corpus, clusters: Path) -> Model:
    file = _ngram_file(folder)
    if not file.is_file():
        raise InputError(f"{folder} holds no weights, and there is no {file} to count it again by")
    options = _options(file)
    if options is None:
        raise InputError(
            f"{folder} holds no weights, and {file} leaves open what it was counted by; copy that file to another "
            "name, with everything in it, and make the model by that name"
        )
    chosen = build.Ngram(**OmegaConf.to_container(options))
    try:
        with tqdm(desc=f"counting for {folder.parent.name}", bar_format="{desc}", leave=False, disable=None):
            model = build.fit(chosen, corpus, clusters)
    except InputError as error:
        raise InputError(f"{file}: {error}") from error
    made = folder / "raw" / "test.npy"
    if made.is_file():
        first = corpus.test[:CHECKED]
        again = model.log_probabilities(corpus.before("test"), first)
        if not np.allclose(again, np.load(made, mmap_mode="r")[:CHECKED], atol=1e-3):
            raise InputError(f"{folder} was made with other options than {file} has: give them a file of their own")
    return NgramModel(model, len(corpus.vocabulary), model.order - 1)


def components(weights: dict) -> list[str]:
    """The models that a mixture's weights.json is of, as that has them: one set of weights, or a set for each bin."""
    first = next(iter(weights.values()))
    return list(first if isinstance(first, dict) else weights)


def _mixture(weights: dict, corpus: Corpus, predictions: Path, clusters: Path) -> Model:
    names = components(weights)
    models = [load(name, corpus, predictions, clusters) for name in names]
    if list(weights) == names:
        return Mixture(models, np.array(list(weights.values())), None)
    fitted = {q: np.array(list(a.values())) for q, a in weights.items()}
    everywhere = fitted.pop("everywhere")
    counted = counts.count(corpus.train, interpolated.ORDER - 1, len(corpus.vocabulary))
    return Mixture(models, bins.BinWeights({int(q): a for q, a in fitted.items()}, everywhere), counted)
