"""Networks that adapt to the text which they read, by the values that are best on validation: neural cache, dynamic
evaluation."""

from collections.abc import Mapping
from itertools import product

import numpy as np

from pipeline.core.common import evaluation, mixture
from pipeline.core.common.errors import InputError, Watcher
from pipeline.core.common.settings import AdaptationSettings
from pipeline.core.common.stream import before
from pipeline.core.networks.base import Network
from pipeline.core.streams import cache, dynamic
from pipeline.core.streams.network import StreamNetwork


def with_cache(
    settings: AdaptationSettings,
    network: StreamNetwork,
    ids: Mapping[str, np.ndarray],
    mark: int,
    raw: Mapping[str, np.ndarray],
) -> tuple[dict[str, np.ndarray], dict]:
    """log P (T,) of valid and test by the network mixed with its cache, whose theta and weight are the best on
    validation; and these two.

    settings: conf/adapt; ids: of train, valid and test; raw: the network's own log P of valid and test.
    """

    def cached(split: str, thetas: list[float]) -> np.ndarray:
        return cache.log_probabilities(network, ids[split], before(ids, split), mark, settings.size, thetas)

    tried = []
    for theta, own in zip(settings.thetas, cached("valid", settings.thetas), strict=True):
        parts = np.stack([raw["valid"], own])
        weights = mixture.fit_weights(parts)
        mixed = mixture.mix(parts, weights)
        tried.append((evaluation.perplexity(mixed), theta, weights, mixed))
    _, theta, weights, mixed = min(tried, key=lambda each: each[0])
    scored = {"valid": mixed, "test": mixture.mix(np.stack([raw["test"], *cached("test", [theta])]), weights)}
    return scored, {"theta": theta, "weight of the cache": float(weights[1])}


def learning(
    settings: AdaptationSettings, network: Network, ids: Mapping[str, np.ndarray], mark: int, watch: Watcher
) -> tuple[dict[str, np.ndarray], dict]:
    """log P (T,) of valid and test while learning from them, by the rate and decay that are best on the words tried;
    and these two. Rates are tried in rising order, until one is worse than the one before.

    settings: conf/adapt; ids: of train, valid and test. Raises InputError where no rate is better than no model.
    """
    roots = dynamic.mean_squares(network, ids["train"][-settings.measured :], mark, settings.length)

    def learned(split: str, words: int | None, rate: float, decay: float) -> np.ndarray:
        part = ids[split][:words]
        watch.begin(len(part), f"rate {rate:g} decay {decay:g}")
        rule = rate, decay, settings.epsilon, settings.length, watch.advance
        return dynamic.log_probabilities(network, part, before(ids, split), mark, roots, *rule)

    losses = {}
    for highest in sorted(settings.rates):
        for rule in product([highest], settings.decays):
            loss = -learned("valid", settings.tried, *rule).mean(dtype=np.float64)
            losses[rule] = loss if np.isfinite(loss) else np.inf
            watch.note(f"rate {rule[0]:g}, decay {rule[1]:g}: {loss:.4f} nats a word on {settings.tried} words")
        rate, decay = min(losses, key=losses.get)
        if rate < highest:
            break  # still higher rates are worse still
    if not losses[rate, decay] < np.log(len(network.b)):
        raise InputError(
            f"adapt.rates={list(settings.rates)}: each is worse than not to know anything; give lower ones"
        )
    return {split: learned(split, None, rate, decay) for split in ("valid", "test")}, {"rate": rate, "decay": decay}
