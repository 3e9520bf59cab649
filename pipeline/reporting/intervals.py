"""How far a table's raw figures can be trusted, by resampling texts, and what they are genre by genre."""

import numpy as np
import pandas as pd

from pipeline.config.tables import Table
from pipeline.core.common.stream import SPLITS
from pipeline.data.corpus import Corpus
from pipeline.reporting import resampling
from pipeline.reporting.table import folders_of


def build(table: Table, corpus: Corpus) -> pd.DataFrame:
    """A line a model: its test perplexity with its 95 % interval, and its ratios to the yardsticks with theirs, paired.

    Columns perplexity, low, high, and of each yardstick to_NAME, to_NAME_low, to_NAME_high; of validation the same
    after valid_, its perplexity in `valid`. A perplexity is that of the mean log-probability over seeds, the geometric
    mean of theirs.
    """
    lines: dict[str, dict[str, float]] = {name: {} for name in table.names}
    for split, prefix in (("test", ""), ("valid", "valid_")):
        texts = resampling.texts_of(corpus, split)
        tokens = texts["tokens"].to_numpy()
        sums = {name: _sums(table, name, texts, split) for name in table.names}
        for name, own in sums.items():
            estimates = {"": resampling.perplexity(own, tokens)}
            estimates |= {f"to_{other}_": resampling.ratio(own, sums[other], tokens) for other in table.yardsticks}
            for key, estimate in estimates.items():
                value = f"{prefix}{key}".rstrip("_") or "perplexity"
                ends = {f"{prefix}{key}low": estimate.low, f"{prefix}{key}high": estimate.high}
                lines[name] |= {value: estimate.value} | ends
    built = pd.DataFrame.from_dict(lines, orient="index").rename_axis("name")
    return built.assign(seeds=[len(seeds) for seeds in table.names.values()])


def genres(table: Table, corpus: Corpus) -> pd.DataFrame:
    """A line a split and genre: texts, tokens, and the perplexity of each model; on training that of its first seed,
    blank for one that training was not scored by. Empty where the corpus has no genres.

    The split is cut by the corpus's order: a genre, and even a text, may stand in two splits, a part in each.
    """
    if not corpus.texts["genre"].any():
        return pd.DataFrame()
    by_split = {}
    for split in SPLITS:
        texts = resampling.texts_of(corpus, split)
        sums = {name: _sums(table, name, texts, split) for name in table.names}
        by_genre = pd.DataFrame(sums).assign(tokens=texts["tokens"], texts=1).groupby(texts["genre"], sort=False)
        total = by_genre.sum(min_count=1)  # else NaN would add up to 0
        perplexities = np.exp(-total[list(sums)].div(total["tokens"], axis=0))
        by_split[split] = pd.concat([total[["texts", "tokens"]].astype(int), perplexities], axis=1)
    return pd.concat(by_split, names=["split"])


def _sums(table: Table, name: str, texts: pd.DataFrame, split: str) -> np.ndarray:
    """The log-probability of each text, the mean over seeds; on training the first seed's, NaN where it has none."""
    folders = folders_of(table, name)
    if split == "train":
        folders = [folder for folder in folders[:1] if (folder / "raw" / "train.npy").is_file()]
    return resampling.sums(texts, folders, f"raw/{split}").mean(0) if folders else np.full(len(texts), np.nan)
