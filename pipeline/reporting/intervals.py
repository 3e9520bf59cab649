"""Confidence intervals of a table's raw figures, by resampling texts; and its raw figures by genre."""

import numpy as np
import pandas as pd

from pipeline.config.tables import Table
from pipeline.core.common.stream import SPLITS
from pipeline.data.corpus import Corpus
from pipeline.reporting import resampling
from pipeline.reporting.table import folders_of


def build(table: Table, corpus: Corpus) -> pd.DataFrame:
    """One line per model: raw perplexity and its ratio to each baseline, with 95 % intervals. Ratios are
    paired: both models on the same resampled texts.

    Columns of each split: <split>_raw, the perplexity, and <split>_raw_to_NAME for each baseline; the ends of their
    intervals have the endings _low and _high. Perplexities are geometric means over seeds: those of the mean
    log-probability.
    """
    lines: dict[str, dict[str, float]] = {name: {} for name in table.names}
    for split in ("test", "valid"):
        parts = resampling.parts_of(corpus, split)
        sums = {name: _sums(table, name, texts=parts.table, split=split) for name in table.names}
        for name, model_sums in sums.items():
            estimates = {f"{split}_raw": resampling.perplexity(model_sums, parts.tokens)}
            for baseline in table.baselines:
                estimates[f"{split}_raw_to_{baseline}"] = resampling.ratio(model_sums, sums[baseline], parts.tokens)
            for key, estimate in estimates.items():
                estimate = parts.interval(estimate)
                lines[name] |= {key: estimate.value, f"{key}_low": estimate.low, f"{key}_high": estimate.high}
    intervals = pd.DataFrame.from_dict(lines, orient="index").rename_axis("name")
    return intervals.assign(seeds=[len(seeds) for seeds in table.names.values()])


def genres(table: Table, corpus: Corpus) -> pd.DataFrame:
    """One line per split and genre: texts, tokens, and each model's raw perplexity. On training it is the first seed's,
    blank where that did not score training. Empty where the corpus has no genres.

    The splits follow the order of the corpus, so a genre, and even a text, may lie partly in one split and partly in
    the next.
    """
    if not corpus.texts["genre"].any():
        return pd.DataFrame()
    by_split = {}
    for split in SPLITS:
        texts = resampling.texts_of(corpus, split)
        sums = {name: _sums(table, name, texts=texts, split=split) for name in table.names}
        by_genre = pd.DataFrame(sums).assign(tokens=texts["tokens"], texts=1).groupby(texts["genre"], sort=False)
        total = by_genre.sum(min_count=1)  # without min_count, NaN would add up to 0
        perplexities = np.exp(-total[list(sums)].div(total["tokens"], axis=0))
        by_split[split] = pd.concat([total[["texts", "tokens"]].astype(int), perplexities], axis=1)
    return pd.concat(by_split, names=["split"])


def _sums(table: Table, name: str, texts: pd.DataFrame, split: str) -> np.ndarray:
    """Raw log-probability of each text, mean over seeds; on training the first seed's, NaN where it has none."""
    folders = folders_of(table, name)
    if split == "train":
        folders = [folder for folder in folders[:1] if (folder / "raw" / "train.npy").is_file()]
    return resampling.sums(texts, folders, f"raw/{split}").mean(0) if folders else np.full(len(texts), np.nan)
