"""Stage adapt: a network that learns from the text which it reads, word after word: neural cache, dynamic evaluation.

Its perplexities are of their own kind: each word is scored before the model learns from it, but what the model knows of
test comes from the words of test that stand before."""

import logging
from dataclasses import dataclass, fields
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
KEYS = {"cache": ("size", "thetas"), "dynamic": ("length", "rates", "decays", "epsilon", "tried", "measured")}

log = logging.getLogger(__name__)


@dataclass
class Adapt:
    """conf/adapt/<name>.yaml."""

    kind: str = one_of(*KEYS)  # neural cache or dynamic evaluation
    size: int | None = above_zero(default=None)  # cache: words that it holds
    thetas: list[float] | None = None  # cache: how sharply likeness counts; the best on validation is taken
    length: int | None = above_zero(default=None)  # dynamic: words of a stretch, which is scored and then learned from
    rates: list[float] | None = None  # dynamic: of a step; with decays, the best pair on the words tried is taken
    decays: list[float] | None = None  # dynamic: back towards the trained weights
    epsilon: float | None = above_zero(default=None)  # dynamic: keeps weights with small gradients from leaps
    tried: int | None = above_zero(default=None)  # dynamic: the first words of validation, for that choice
    measured: int | None = above_zero(default=None)  # dynamic: the last words of training, for the size of gradients

    def __post_init__(self):
        check(self, "adapt.")
        for field in fields(self)[1:]:
            value, has = getattr(self, field.name), field.name in KEYS[self.kind]
            if has == (value is None):
                raise InputError(
                    f"adapt.{field.name}={value}: adapt.kind={self.kind} {'needs' if has else 'has no'} it"
                )
            if isinstance(value, list) and not (value and all(0 <= each <= 1e6 for each in value)):
                raise InputError(f"adapt.{field.name}={value}: give one or more numbers from 0 to 1e6")


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
    """Writes the arrays, metrics.json and chosen.json into config.out."""
    corpus, folder = read_corpus(config.data), folder_of(f"{config.network}/{config.seed}", config.predictions)
    check_corpus(read(folder), folder, corpus)
    network = read_network(folder, len(corpus.vocabulary))
    if not network.in_order:
        raise InputError(f"network={config.network}: the {network.architecture.family} family reads no stream in order")
    with recorded("adapt", config, corpus):
        scored, chosen = (_cache if config.adapt.kind == "cache" else _dynamic)(config, network, corpus, folder)
        metrics = write_predictions(Path(config.out), corpus, scored)
        write_json(Path(config.out, "chosen.json"), chosen)
        log.info("%s: validation %.2f with share; %s", config.name, metrics["valid"], chosen)


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
            rule = rate, decay, adapt.epsilon, adapt.length, bar.update
            return dynamic.log_probabilities(network, ids, before, mark, roots, *rule)

    losses = {}
    for rule in product(adapt.rates, adapt.decays):
        loss = -learned(corpus.valid[: adapt.tried], corpus.train, *rule).mean(dtype=np.float64)
        losses[rule] = loss if np.isfinite(loss) else np.inf
        log.info("rate %g, decay %g: %.4f nats a word on %d words", *rule, loss, adapt.tried)
    rate, decay = min(losses, key=losses.get)
    if not losses[rate, decay] < np.log(len(corpus.vocabulary)):
        raise InputError(f"adapt.rates={adapt.rates}: each is worse than not to know anything; give lower ones")
    scored = {split: learned(corpus.ids(split), corpus.before(split), rate, decay) for split in SCORED}
    return scored, {"rate": rate, "decay": decay}


if __name__ == "__main__":
    app.run("adapt", Config, main)
