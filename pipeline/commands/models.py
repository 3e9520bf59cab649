"""Any model of the pipeline by name, ready for new text: networks from their weights, n-grams counted again from the
training ids (a second or two), mixtures from their components. How each was made stands in its run.json."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from tqdm import tqdm

from pipeline.commands.command import CLUSTERS, PLACES
from pipeline.core.common import evaluation, mixture
from pipeline.core.ngrams import bins, build, counts, interpolated
from pipeline.data import record
from pipeline.data.corpus import Corpus
from pipeline.data.errors import InputError
from pipeline.data.files import read_json
from pipeline.running import paper

STAGES = ("train", "ngram", "mix")  # whose models can be loaded


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
        """See LanguageModel."""
        return self.counted.log_probabilities(before, ids)

    def next(self, before: np.ndarray) -> np.ndarray:
        """One stream in which each word of the vocabulary stands after the same context."""
        context = before[len(before) - min(self.counted.order - 1, len(before)) :]
        stream = np.concatenate([np.tile(context, (self.words, 1)), np.arange(self.words)[:, None]], 1)
        return self.counted.log_probabilities(before[:0], stream.ravel())[len(context) :: len(context) + 1]


@dataclass(frozen=True)
class Treated:
    """A model with its share for words that training never shows."""

    model: LanguageModel
    unseen: np.ndarray
    share: float

    def log_probabilities(self, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """See LanguageModel."""
        return evaluation.apply_share(self.model.log_probabilities(before, ids), ids, self.unseen, self.share)

    def next(self, before: np.ndarray) -> np.ndarray:
        """See LanguageModel."""
        every = np.arange(len(self.unseen))
        return evaluation.apply_share(self.model.next(before), every, self.unseen, self.share)


@dataclass(frozen=True)
class Mixture:
    """Models mixed with one set of weights, or one for each bin of the context's frequency."""

    models: list[LanguageModel]
    weights: np.ndarray | bins.BinWeights
    counts: counts.Counts | None  # of the training part, for the bins

    def log_probabilities(self, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """See LanguageModel."""
        parts = np.stack([model.log_probabilities(before, ids) for model in self.models])
        if self.counts is None:
            return mixture.mix(parts, self.weights)
        return bins.mix(parts, interpolated.context_bins(self.counts, before, ids), self.weights)

    def next(self, before: np.ndarray) -> np.ndarray:
        """See LanguageModel."""
        weights = self.weights
        if self.counts is not None:
            place = np.zeros(1, dtype=np.int64)
            weights = weights.of(interpolated.context_bins(self.counts, before, place))[0]
        return mixture.mix(np.stack([model.next(before) for model in self.models]), weights)


def find(name: str, corpus: Corpus, places: Sequence[str | Path]) -> tuple[Path, record.Record]:
    """The folder and the run of a model named `mlp1/2`, or `mlp1` for seed 0, in the first of the places that has it.
    The paper's name of a row, such as `MLP2`, will do.

    Raises InputError where none has it, with the models that are there, or where it is of another corpus.
    """
    places, name = [Path(place) for place in places], paper.model_of(name)
    for place in places:
        folder = place / (name if "/" in name else f"{name}/0")
        if (folder / record.FILE).is_file():
            made = record.read(folder)
            record.check_corpus(made, folder, corpus)
            return folder, made
    found = [path for place in places for path in sorted(place.glob(f"*/*/{record.FILE}"))]
    there = dict.fromkeys(path.parts[-3] for path in found if record.read(path.parent).stage in STAGES)
    raise InputError(
        f"no model {name!r} in {', '.join(map(str, places))}; there are: {', '.join(there) or 'none, run `make repro`'}"
    )


def folders(name: str, corpus: Corpus, places: Sequence[Path]) -> dict[str, Path]:
    """What it takes to load a model: its folder, and those of the models that it mixes, by their names."""
    folder, run = find(name, corpus, places)
    found = {name: folder}
    for part in run.config["mix"]["components"] if run.stage == "mix" else []:
        found |= folders(part, corpus, places)
    return found


def load(
    name: str, corpus: Corpus, places: Sequence[str | Path] = PLACES, clusters: str | Path = CLUSTERS
) -> LanguageModel:
    """A model by its name; see find. clusters: folder with <number of classes>/classes.csv.

    Raises InputError as find does, and for what gives no probabilities of new text.
    """
    folder, run = find(name, corpus, places)
    model = _without_share(folder, run, corpus, places, clusters)
    return Treated(model, corpus.unseen, read_json(folder / "metrics.json")["share"])


def _without_share(
    folder: Path, run: record.Record, corpus: Corpus, places: Sequence[Path], clusters: Path
) -> LanguageModel:
    if run.stage == "mix":
        return _mixture(folder, run, corpus, places, clusters)
    if run.stage == "train":
        from pipeline.commands.networks import NetworkModel
        from pipeline.data.weights import read_network

        return NetworkModel(read_network(folder, len(corpus.vocabulary)), corpus.mark)
    if run.stage == "ngram":
        return _ngram(folder, run, corpus, clusters)
    raise InputError(f"{folder} can't be loaded: it holds what the stage {run.stage} found, and no model")


def _ngram(folder: Path, run: record.Record, corpus: Corpus, clusters: Path) -> NgramModel:
    try:
        with tqdm(desc=f"counting for {run.name}", bar_format="{desc}", leave=False, disable=None):
            counted = build.fit(build.Ngram(**run.config["ngram"]), corpus, clusters)
    except InputError as error:
        raise InputError(f"{folder} can't be counted again: {error}") from error
    return NgramModel(counted, len(corpus.vocabulary))


def _mixture(folder: Path, run: record.Record, corpus: Corpus, places: Sequence[Path], clusters: Path) -> Mixture:
    names, weights = run.config["mix"]["components"], read_json(folder / "weights.json")
    models = [_without_share(*find(name, corpus, places), corpus, places, clusters) for name in names]
    if list(weights) == names:
        return Mixture(models, np.array(list(weights.values())), None)
    try:
        fitted = {int(q): np.array([a[name] for name in names]) for q, a in weights.items() if q != "everywhere"}
        everywhere = np.array([weights["everywhere"][name] for name in names])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{folder / 'weights.json'} has no weights of {', '.join(names)}: mix again") from error
    counted = counts.count(corpus.train, interpolated.ORDER - 1, len(corpus.vocabulary))
    return Mixture(models, bins.BinWeights(fitted, everywhere), counted)
