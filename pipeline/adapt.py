"""Stage adapt: a network that learns from the text which it reads, word after word: neural cache, dynamic evaluation.

Its perplexities are of their own kind: each word is scored before the model learns from it, but what the model knows of
test comes from the words of test that stand before."""

import logging
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from tqdm import tqdm

from pipeline.data import evaluation, mixture
from pipeline.data.constraints import above_zero, at_least, check, one_of
from pipeline.data.corpus import Corpus, read_corpus
from pipeline.data.errors import InputError
from pipeline.data.files import write_json
from pipeline.data.predictions import folder_of, read_predictions, write_predictions
from pipeline.data.record import check_corpus, read
from pipeline.networks import cache, dynamic
from pipeline.networks.saved import read_network
from pipeline.networks.streams import StreamNetwork
from pipeline.running import app
from pipeline.running.recorded import recorded

SCORED = ("valid", "test")

log = logging.getLogger(__name__)


@dataclass
class Adapt:
    """conf/adapt/<name>.yaml."""

    kind: str = one_of("cache", "dynamic")
    size: int = above_zero()  # cache: words that it holds
    thetas: list[float]  # cache: how sharply likeness counts; the best on validation is taken
    length: int = above_zero()  # dynamic: words of a stretch, which is scored and then learned from
    rates: list[float]  # dynamic: of a step; with decays, the best pair on the words tried is taken
    decays: list[float]  # dynamic: back towards the trained weights
    tried: int = above_zero()  # dynamic: the first words of validation
    measured: int = above_zero()  # dynamic: the last words of training, whose gradients say how far each weight moves

    def __post_init__(self):
        check(self, "adapt.")
        for key in ("thetas", "rates", "decays"):
            values = getattr(self, key)
            if not values or not all(0 <= value <= 1e6 for value in values):
                raise InputError(f"adapt.{key}={values}: give one or more numbers from 0 to 1e6")


@dataclass
class Config:
    """conf/adapt.yaml."""

    name: str
    network: str
    adapt: Adapt
    data: str
    predictions: list[str]
    seed: int = at_least(0)
    out: str
    timing: str

    def __post_init__(self):
        check(self)


def main(config: Config) -> None:
    """Writes the arrays, metrics.json and, of a cache, weights.json into config.out."""
    corpus, folder = read_corpus(config.data), folder_of(config.network, config.predictions)
    check_corpus(read(folder), folder, corpus)
    network = read_network(folder, len(corpus.vocabulary))
    if not network.in_order:
        raise InputError(f"network={config.network}: the {network.architecture.family} family reads no stream in order")
    with recorded("adapt", config, corpus) as run:
        scored, chosen = (_cache if config.adapt.kind == "cache" else _dynamic)(config, network, corpus, folder)
        metrics = write_predictions(Path(config.out), corpus, scored)
        write_json(Path(config.out, "chosen.json"), chosen)
        run.metrics(metrics)
        log.info("%s: validation %.2f, test %.2f; %s", config.name, metrics["valid"], metrics["test"], chosen)


def _cache(config: Config, network: StreamNetwork, corpus: Corpus, folder: Path) -> tuple[dict, dict]:
    """log P of both splits by the network mixed with its cache, whose theta and weight are the best on validation."""
    size, thetas = config.adapt.size, config.adapt.thetas
    raw = {split: read_predictions(folder, f"raw/{split}", len(corpus.ids(split))) for split in SCORED}

    def cached(split: str, some: list[float]) -> np.ndarray:
        return cache.log_probabilities(network, corpus.ids(split), corpus.before(split), corpus.mark, size, some)

    found = []
    for theta, own in zip(thetas, cached("valid", thetas), strict=True):
        parts = np.stack([raw["valid"], own])
        weights = mixture.fit_weights(parts)
        mixed = mixture.mix(parts, weights)
        found.append((evaluation.perplexity(mixed), theta, weights, mixed))
    _, theta, weights, mixed = min(found, key=lambda each: each[0])
    scored = {"valid": mixed, "test": mixture.mix(np.stack([raw["test"], *cached("test", [theta])]), weights)}
    return scored, {"theta": theta, "weight of the cache": float(weights[1])}


def _dynamic(config: Config, network: StreamNetwork, corpus: Corpus, folder: Path) -> tuple[dict, dict]:
    """log P of both splits while learning from them, by the rate and decay that are best on the words tried."""
    adapt, mark = config.adapt, corpus.mark
    roots = dynamic.mean_squares(network, corpus.train[-adapt.measured :], mark, adapt.length)

    def learned(ids: np.ndarray, before: np.ndarray, rate: float, decay: float) -> np.ndarray:
        with tqdm(
            total=len(ids), unit="w", unit_scale=True, desc=f"rate {rate:g} decay {decay:g}", disable=None
        ) as bar:
            rule = rate, decay, adapt.length, bar.update
            return dynamic.log_probabilities(network, ids, before, mark, roots, *rule)

    tried = {}
    for rate, decay in product(adapt.rates, adapt.decays):
        tried[rate, decay] = evaluation.perplexity(learned(corpus.valid[: adapt.tried], corpus.train, rate, decay))
        log.info("rate %g, decay %g: %.2f on %d words", rate, decay, tried[rate, decay], adapt.tried)
    rate, decay = min(tried, key=tried.get)
    scored = {split: learned(corpus.ids(split), corpus.before(split), rate, decay) for split in SCORED}
    return scored, {"rate": rate, "decay": decay}


if __name__ == "__main__":
    app.run("adapt", Config, main)
