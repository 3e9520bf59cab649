"""Scoring with rounded products of infrequent words against exact scoring, for each network of Table 1.

All tokens of validation and test, uncorrected, from the weights of `make repro`; `error` is the rounded perplexity over
the exact one, less 1. Times are of one thread.
"""

import time
from pathlib import Path

import pandas as pd

from pipeline.config.base import ROOT
from pipeline.config.tables import read_tables
from pipeline.core.common.evaluation import perplexity
from pipeline.core.common.stream import before
from pipeline.data.corpus import Corpus, read_corpus
from pipeline.data.weights import WEIGHTS, read_network


def run() -> pd.DataFrame:
    """A line a network, seed and split."""
    table = read_tables(ROOT / "conf" / "table")["table1"]
    corpus = read_corpus("data/brown")
    folders = [Path(place, name) for place in table.predictions for name in table.models["train"]]
    files = sorted(file for folder in folders for file in folder.glob(f"*/{WEIGHTS}"))
    return pd.DataFrame([line for file in files for line in _compare(file.parent, corpus)]).set_index("model")


def _compare(folder: Path, corpus: Corpus) -> list[dict]:
    network = read_network(folder, len(corpus.vocabulary))
    lines = []
    for split in ("valid", "test"):
        scored, seconds = {}, {}
        for rounded in (False, True):
            network.rounded = rounded
            start = time.perf_counter()
            log_probabilities = network.score(corpus.ids(split), before(corpus.splits, split), corpus.mark)
            scored[rounded], seconds[rounded] = perplexity(log_probabilities), time.perf_counter() - start
        lines.append(
            {
                "model": folder.parent.name,
                "seed": folder.name,
                "split": split,
                "exact": scored[False],
                "error": f"{scored[True] / scored[False] - 1:.1e}",
                "times faster": seconds[False] / seconds[True],
            }
        )
    return lines
