"""Mixtures of models: sum_k a_k P_k, with fixed weights or weights fitted by EM (paper, section 4.1)."""

from collections.abc import Sequence

import numpy as np
from scipy.special import logsumexp


def mix(log_probabilities: np.ndarray, weights: Sequence[float]) -> np.ndarray:
    """log sum_k a_k P_k, (T,) float32, from log P_k (K, T) and a_k (K,)."""
    with np.errstate(divide="ignore"):
        log_weights = np.log(np.asarray(weights, dtype=np.float64))
    return logsumexp(log_probabilities + log_weights[:, None], axis=0).astype(np.float32)


def fit_weights(log_probabilities: np.ndarray, tolerance: float = 1e-7, iterations: int = 1000) -> np.ndarray:
    """The weights (K,) that maximise the likelihood of these tokens under the mixture, by EM from equal weights.

    log_probabilities: (K, T) natural log, -inf allowed where another component is finite. Stops when an iteration
    raises the mean log-likelihood by less than `tolerance`.
    """
    # Each token's probabilities divided by the largest one: EM needs only their ratios, and nothing underflows.
    ratios = np.exp(log_probabilities.astype(np.float64) - log_probabilities.max(0))
    weights = np.full(len(ratios), 1 / len(ratios))
    previous = -np.inf
    for _ in range(iterations):
        mixed = np.einsum("k,kt->t", weights, ratios)  # not by BLAS, whose rounding depends on its kernels
        likelihood = np.log(mixed).mean()
        if likelihood - previous < tolerance:
            break
        previous = likelihood
        weights *= (ratios / mixed).mean(1)
    return weights
