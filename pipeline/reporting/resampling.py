"""Confidence intervals of perplexities and their ratios, by resampling texts (a paired bootstrap).

Words of one text are not independent of each other; texts nearly are. Where a network has several seeds, the interval
holds their spread too.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from pipeline.data.corpus import Corpus
from pipeline.data.predictions import read_predictions

RESAMPLES = 10_000
BATCH = 100  # resamples at a time; all at once would take gigabytes for a split of tens of thousands of texts
LEVEL = 0.95
FEW = 20  # with fewer texts, blocks are resampled
BLOCK = 1000  # tokens of a block


@dataclass(frozen=True)
class Estimate:
    """A figure and its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Parts:
    """The parts of a split that are resampled: its texts, or blocks of tokens where it has few texts."""

    table: pd.DataFrame  # first (the place of a part's first token in the split) and tokens
    are_texts: bool

    @property
    def tokens(self) -> np.ndarray:
        """The number of tokens of each part."""
        return self.table["tokens"].to_numpy()

    def interval(self, estimate: Estimate) -> Estimate:
        """An estimate from these parts, with the wider interval that few parts call for."""
        return estimate if self.are_texts else widened(estimate, len(self.table))

    def __str__(self) -> str:
        if self.are_texts:
            return "texts"
        return f"{len(self.table)} blocks of {self.tokens.min():,} tokens or one more"


def parts_of(corpus: Corpus, split: str) -> Parts:
    """The texts of a split; with fewer than FEW at least two blocks of some BLOCK tokens."""
    texts = texts_of(corpus, split)
    if len(texts) >= FEW:
        return Parts(texts, True)
    tokens = len(corpus.ids(split))
    first = np.linspace(0, tokens, max(tokens // BLOCK, 2), endpoint=False).astype(int)
    return Parts(pd.DataFrame({"first": first, "tokens": np.diff(first, append=tokens)}), False)


def text_sums(log_probabilities: np.ndarray, firsts: np.ndarray) -> np.ndarray:
    """Sums of log-probabilities (T,) over each text, (texts,) float64. firsts: the place of each text's first token."""
    return np.add.reduceat(log_probabilities.astype(np.float64), firsts)


def perplexity(sums: np.ndarray, tokens: np.ndarray) -> Estimate:
    """Perplexity over all tokens. sums: (texts,) log-probabilities; tokens: (texts,) how many tokens each text has."""
    return _estimate(lambda s, t, axis=-1: np.exp(-s.sum(axis) / t.sum(axis)), sums, tokens)


def ratio(sums: np.ndarray, others: np.ndarray, tokens: np.ndarray) -> Estimate:
    """The perplexity of the model of `sums` over that of `others`, paired: resamples have the same texts for both."""
    return _estimate(lambda a, b, t, axis=-1: np.exp((b.sum(axis) - a.sum(axis)) / t.sum(axis)), sums, others, tokens)


def ratio_of_seeds(sums: np.ndarray, others: np.ndarray, tokens: np.ndarray, few: bool = False) -> Estimate:
    """The same ratio of two models with several seeds: sums and others (seeds, texts), compared seed by seed. A model
    with one seed is compared with each seed of the other.

    The value is the ratio of geometric means over seeds. The interval combines two errors as if independent (the root
    of the sum of squares, on each side): that over texts and, for two seeds or more, Student's interval of the mean log
    ratio. few: whether the texts are so few that their part is widened.
    """
    texts = ratio(sums.mean(0), others.mean(0), tokens)
    texts = widened(texts, len(tokens)) if few else texts
    log_ratios = (others.sum(1) - sums.sum(1)) / tokens.sum()  # (seeds,)
    if len(log_ratios) < 2:
        return texts
    spread = stats.t.ppf((1 + LEVEL) / 2, len(log_ratios) - 1) * stats.sem(log_ratios)
    below, above = (np.hypot(np.log(end / texts.value), spread) for end in (texts.low, texts.high))
    return Estimate(texts.value, texts.value * np.exp(-below), texts.value * np.exp(above))


def widened(ratio: Estimate, parts: int) -> Estimate:
    """A ratio with the wider interval that resampling few parts calls for.

    A resample of n parts shows too little spread, by the factor sqrt((n - 1) / n), and few parts need Student's
    quantile in place of the normal one.
    """
    upper = (1 + LEVEL) / 2
    factor = stats.t.ppf(upper, parts - 1) / stats.norm.ppf(upper) * (parts / (parts - 1)) ** 0.5
    low, high = (ratio.value * (end / ratio.value) ** factor for end in (ratio.low, ratio.high))
    return Estimate(ratio.value, low, high)


def _estimate(statistic, *samples: np.ndarray) -> Estimate:
    value = float(statistic(*samples))
    if len(samples[0]) < 2:  # one text shows no spread
        return Estimate(value, np.nan, np.nan)
    bootstrap = stats.bootstrap(
        samples,
        statistic,
        n_resamples=RESAMPLES,
        batch=BATCH,
        paired=True,
        vectorized=True,
        method="percentile",
        rng=0,
        confidence_level=LEVEL,
    )
    interval = bootstrap.confidence_interval
    return Estimate(value, float(interval.low), float(interval.high))


def texts_of(corpus: Corpus, split: str) -> pd.DataFrame:
    """The texts of a split in order: name, genre, first (the place of its first token in the split) and tokens."""
    texts = corpus.texts[corpus.texts["split"] == split]
    return pd.DataFrame(
        {
            "name": texts["name"],
            "genre": texts["genre"],
            "first": texts["first"] - texts["first"].min(),
            "tokens": texts["end"] - texts["first"],
        }
    ).reset_index(drop=True)


def sums(parts: pd.DataFrame, folders: list[Path], array: str) -> np.ndarray:
    """A model's log-probability of each text, or of each block, by each seed, (seeds, parts).

    folders: one per seed; array: the argument `split` of read_predictions, such as raw/valid.
    """
    firsts = parts["first"].to_numpy()
    tokens = int(parts["tokens"].sum())
    return np.stack([text_sums(read_predictions(folder, array, tokens), firsts) for folder in folders])
