"""Stage intervals: how sure the table's figures are, by resampling texts, and what they are genre by genre."""

import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.data.corpus import SPLITS, read_corpus
from pipeline.reporting import by_text, resampling
from pipeline.reporting.table import Table
from pipeline.running import app

log = logging.getLogger(__name__)


@dataclass
class Config:
    """conf/intervals.yaml."""

    table: Table
    data: str
    out: str
    timing: str


def main(config: Config) -> None:
    """Writes intervals.csv, and genres.csv where the corpus has genres, into config.out."""
    corpus, out = read_corpus(config.data), Path(config.out)
    texts = {split: by_text.texts_of(corpus, split) for split in SPLITS}
    folders = {name: config.table.folders(name) for name in config.table.names}
    sums = {
        split: {name: by_text.sums(texts[split], folders[name], split) for name in folders}
        for split in ("valid", "test")
    }
    table = intervals(texts["test"], sums["test"], config.table.yardsticks)
    valid = intervals(texts["valid"], sums["valid"], config.table.yardsticks).add_prefix("valid_")
    table = table.join(valid.rename(columns={"valid_perplexity": "valid"}))
    table["seeds"] = [len(folders[name]) for name in table.index]
    out.mkdir(parents=True, exist_ok=True)
    table.to_csv(out / "intervals.csv", float_format="%.5f")
    if corpus.texts["genre"].any():
        sums["train"] = {name: by_text.train_sums(texts["train"], folders[name][0]) for name in folders}
        by_split = {split: genres(texts[split], sums[split]) for split in SPLITS}
        pd.concat(by_split, names=["split"]).to_csv(out / "genres.csv", float_format="%.4f")
    log.info("%d models on %d texts of test", len(table), len(texts["test"]))


def intervals(texts: pd.DataFrame, sums: dict[str, np.ndarray], yardsticks: list[str]) -> pd.DataFrame:
    """A line a model: its perplexity with its 95 % interval, and its ratio to each yardstick with theirs, paired.

    Columns perplexity, low, high, and of each yardstick to_NAME, to_NAME_low, to_NAME_high. The perplexity is that
    of the mean log-probability over seeds, the geometric mean of theirs.
    """
    tokens = texts["tokens"].to_numpy()
    lines = {}
    for name, own in sums.items():
        found = resampling.perplexity(own, tokens)
        lines[name] = {"perplexity": found.value, "low": found.low, "high": found.high}
        for other in yardsticks:
            ratio = resampling.ratio(own, sums[other], tokens)
            lines[name] |= {f"to_{other}": ratio.value, f"to_{other}_low": ratio.low, f"to_{other}_high": ratio.high}
    return pd.DataFrame.from_dict(lines, orient="index").rename_axis("name")


def genres(texts: pd.DataFrame, sums: dict[str, np.ndarray]) -> pd.DataFrame:
    """A line a genre of a split: texts, tokens, and the perplexity of each model, blank for one without its sums.

    The split is cut by the corpus's order: a genre, and even a text, may stand in two splits, a part in each.
    """
    by_genre = pd.DataFrame(sums).assign(tokens=texts["tokens"], texts=1).groupby(texts["genre"], sort=False)
    total = by_genre.sum(min_count=1)  # else NaN would add up to 0
    perplexities = np.exp(-total[list(sums)].div(total["tokens"], axis=0))
    return pd.concat([total[["texts", "tokens"]].astype(int), perplexities], axis=1)


if __name__ == "__main__":
    app.run("intervals", Config, main, timed=True)
