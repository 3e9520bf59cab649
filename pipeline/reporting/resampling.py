"""Intervals for perplexities and their ratios, by resampling texts: words of one text are not independent of each
other, texts nearly are. Where a network has several seeds, their spread is added."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from pipeline.data.corpus import Corpus
from pipeline.data.predictions import read_predictions

RESAMPLES = 10_000
AT_ONCE = 100  # of them; all would take gigabytes where a split has tens of thousands of texts
LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A figure and its 95 % interval."""

    value: float
    low: float
    high: float


def text_sums(log_probabilities: np.ndarray, firsts: np.ndarray) -> np.ndarray:
    """Sum of log-probabilities (T,) over each text, in float64; firsts: the place of each text's first token."""
    return np.add.reduceat(log_probabilities.astype(np.float64), firsts)


def perplexity(sums: np.ndarray, tokens: np.ndarray) -> Estimate:
    """Perplexity over all tokens, from each text's sum of log-probabilities and number of tokens."""
    return _estimate(lambda s, t, axis=-1: np.exp(-s.sum(axis) / t.sum(axis)), sums, tokens)


def ratio(sums: np.ndarray, others: np.ndarray, tokens: np.ndarray) -> Estimate:
    """One model's perplexity over another's; in each resample both read the same texts (paired)."""
    return _estimate(lambda a, b, t, axis=-1: np.exp((b.sum(axis) - a.sum(axis)) / t.sum(axis)), sums, others, tokens)


def ratio_of_seeds(sums: np.ndarray, others: np.ndarray, tokens: np.ndarray) -> Estimate:
    """The same of models with several seeds, (seeds, texts) each, seed by seed; a model of one is held against each.

    The value is that of the mean log-probabilities over seeds. Its interval: the texts' and, of two seeds or more,
    Student's for the mean of their log ratios, as two independent errors: the root of the sum of squares on each side.
    """
    texts = ratio(sums.mean(0), others.mean(0), tokens)
    each = (others.sum(1) - sums.sum(1)) / tokens.sum()  # log ratio of each seed
    if len(each) < 2:
        return texts
    spread = stats.t.ppf((1 + LEVEL) / 2, len(each) - 1) * stats.sem(each)
    below, above = (np.hypot(np.log(end / texts.value), spread) for end in (texts.low, texts.high))
    return Estimate(texts.value, texts.value * np.exp(-below), texts.value * np.exp(above))


def widened(ratio: Estimate, parts: int) -> Estimate:
    """A ratio whose interval resampled few parts: so few show too little spread, by the root of (n - 1) / n, and want
    Student's quantile in place of the normal one."""
    middle = (1 + LEVEL) / 2
    factor = stats.t.ppf(middle, parts - 1) / stats.norm.ppf(middle) * (parts / (parts - 1)) ** 0.5
    low, high = (ratio.value * (end / ratio.value) ** factor for end in (ratio.low, ratio.high))
    return Estimate(ratio.value, low, high)


def _estimate(statistic, *samples: np.ndarray) -> Estimate:
    value = float(statistic(*samples))
    if len(samples[0]) < 2:  # one text has no spread to show
        return Estimate(value, np.nan, np.nan)
    options = {"paired": True, "vectorized": True, "method": "percentile", "rng": 0, "confidence_level": LEVEL}
    interval = stats.bootstrap(samples, statistic, n_resamples=RESAMPLES, batch=AT_ONCE, **options).confidence_interval
    return Estimate(value, float(interval.low), float(interval.high))


def texts_of(corpus: Corpus, split: str) -> pd.DataFrame:
    """The texts of a split in order: name, genre, first (its place in the split's stream) and tokens."""
    texts = corpus.texts[corpus.texts["split"] == split]
    return pd.DataFrame(
        {
            "name": texts["name"],
            "genre": texts["genre"],
            "first": texts["first"] - texts["first"].min(),
            "tokens": texts["end"] - texts["first"],
        }
    ).reset_index(drop=True)


def sums(texts: pd.DataFrame, folders: list[Path], array: str) -> np.ndarray:
    """A model's log-probability of each text by each seed, (seeds, texts); array: as read_predictions has it."""
    first, tokens = texts["first"].to_numpy(), int(texts["tokens"].sum())
    return np.stack([text_sums(read_predictions(folder, array, tokens), first) for folder in folders])
