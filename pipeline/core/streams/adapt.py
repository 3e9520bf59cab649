"""Test-time adaptation: neural cache and dynamic evaluation, with the settings that are best on validation."""

from collections.abc import Mapping

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
    """log P (T,) of valid and test by the network mixed with its cache, with the theta and weight that are best on
    validation; and these two.

    settings: conf/adapt; ids: of train, valid and test; raw: the network's log P of valid and test, without the cache.
    """

    def cached(split: str, thetas: list[float]) -> np.ndarray:
        return cache.log_probabilities(
            network, ids[split], before=before(ids, split), mark=mark, size=settings.size, thetas=thetas
        )

    tried = []
    for theta, log_p_cache in zip(settings.thetas, cached("valid", settings.thetas), strict=True):
        parts = np.stack([raw["valid"], log_p_cache])
        weights = mixture.fit_weights(parts)
        mixed = mixture.mix(parts, weights)
        tried.append((evaluation.perplexity(mixed), theta, weights, mixed))
    _, theta, weights, mixed = min(tried, key=lambda trial: trial[0])
    scored = {"valid": mixed, "test": mixture.mix(np.stack([raw["test"], *cached("test", [theta])]), weights)}
    return scored, {"theta": theta, "weight of the cache": float(weights[1])}


def learning(
    settings: AdaptationSettings, network: Network, ids: Mapping[str, np.ndarray], mark: int, watch: Watcher
) -> tuple[dict[str, np.ndarray], dict]:
    """log P (T,) of valid and test by dynamic evaluation, with the rate and decay that are best on the first
    `settings.tried` words of validation; and these two. Rates are tried in rising order, until one is worse than the
    one before.

    settings: conf/adapt; ids: of train, valid and test. Raises InputError where all rates are worse than the uniform
    distribution.
    """
    roots = dynamic.mean_squares(network, ids["train"][-settings.measured :], mark, settings.length)

    def learned(split: str, words: int | None, rate: float, decay: float) -> np.ndarray:
        part = ids[split][:words]
        watch.begin(len(part), f"rate {rate:g} decay {decay:g}")
        return dynamic.log_probabilities(
            network,
            part,
            before=before(ids, split),
            mark=mark,
            roots=roots,
            rate=rate,
            decay=decay,
            epsilon=settings.epsilon,
            length=settings.length,
            progress=watch.advance,
        )

    losses = {}
    for highest in sorted(settings.rates):
        for decay in settings.decays:
            loss = -learned("valid", settings.tried, highest, decay).mean(dtype=np.float64)
            losses[highest, decay] = loss if np.isfinite(loss) else np.inf
            watch.note(f"rate {highest:g}, decay {decay:g}: {loss:.4f} nats a word on {settings.tried} words")
        rate, decay = min(losses, key=losses.get)
        if rate < highest:
            break  # higher rates are worse still
    if not losses[rate, decay] < np.log(len(network.b)):
        raise InputError(
            f"adapt.rates={list(settings.rates)}: each is worse than not to know anything; give lower ones"
        )
    return {split: learned(split, None, rate, decay) for split in ("valid", "test")}, {"rate": rate, "decay": decay}
