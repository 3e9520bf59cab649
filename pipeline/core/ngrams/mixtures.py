"""Mixtures of models, from their log-probabilities (paper, section 4.1; weights by context frequency: NIPS 2000)."""

from collections.abc import Mapping

import numpy as np

from pipeline.core.common import mixture
from pipeline.core.common.settings import MixtureSettings
from pipeline.core.common.stream import before
from pipeline.core.ngrams import bins, counts


def mix(
    settings: MixtureSettings, parts: Mapping[str, np.ndarray], ids: Mapping[str, np.ndarray], vocabulary: int
) -> tuple[dict[str, np.ndarray], dict]:
    """log P (T,) of the mixture on valid and test, and the weights by component, or by bin and component.

    settings: an entry of conf/mixtures.yaml; parts: log P_k (K, T) of valid and test; ids: of train, valid and test;
    vocabulary: words, V.
    """
    if settings.by_frequency:
        return _by_frequency(settings, parts, ids, vocabulary)
    weights = settings.weights or mixture.fit_weights(parts["valid"], settings.tolerance).tolist()
    mixed = {split: mixture.mix(part, weights) for split, part in parts.items()}
    return mixed, dict(zip(settings.components, weights, strict=True))


def _by_frequency(settings: MixtureSettings, parts: Mapping, ids: Mapping, vocabulary: int) -> tuple[dict, dict]:
    """See mix; each frequency bin of the context has its own weights, as in the trigram."""
    counted = counts.count(ids["train"], 2, vocabulary)
    binned = {split: bins.context_bins(counted, before(ids, split), ids[split]) for split in parts}
    fitted = bins.fit(parts["valid"], binned["valid"], settings.tolerance)
    mixed = {split: bins.mix(part, binned[split], fitted) for split, part in parts.items()}
    weights = {"everywhere": fitted.everywhere} | fitted.weights
    return mixed, {q: dict(zip(settings.components, a.tolist(), strict=True)) for q, a in weights.items()}
