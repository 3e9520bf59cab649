"""Cost by the size of the vocabulary and of the corpus, on ids drawn from Zipf's distribution.

For each size, in processes of their own on one thread: training steps of MLP9 by the table's recipe, exact scoring,
Kneser-Ney 5 with its counts in memory and in files, and a pass of clustering into 500 classes. Where Kneser-Ney needs
more memory than is free, its place is left empty but for the memory. The words are drawn independently, so hardly a
5-gram comes twice: a text of as many words has fewer of them.
"""

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import psutil

from benchmarks import setting, zipf
from pipeline.core.clustering import exchange
from pipeline.core.ngrams import counts, kneser_ney
from pipeline.reporting import style
from pipeline.running.place import peak_memory_mb

VOCABULARIES = [5_000, 18_000, 50_000, 100_000, 200_000]  # at a million words
TOKENS = [100_000, 1_000_000, 10_000_000, 100_000_000]  # at 18,000 words of vocabulary
TRAINED = 400_000  # words of which the time is taken
SCORED = 10_000
TESTED = 100_000
ORDER = 5
CLASSES = 500


def network_cost(tokens: int, vocabulary: int) -> dict:
    """Time and memory of training and exact scoring."""
    stream = zipf.ids(tokens, vocabulary)
    start = time.perf_counter()
    corpus = setting.Ids(stream, stream[:1000], vocabulary, 0)
    # An epoch of a small corpus ends before the time is taken; more are for it, and no other size sees them.
    trainer = setting.trainer(setting.architecture("mlp9"), setting.recipe(epochs=10, patience=10), corpus)
    ready = time.perf_counter() - start
    trained = setting.seconds_for(TRAINED, trainer)
    start = time.perf_counter()
    trainer.network.score(stream[:SCORED], stream[:0], 0)
    return {
        "words": tokens,
        "vocabulary": vocabulary,
        "training, µs a word": 1e6 * trained / TRAINED,
        "until training begins, s": ready,
        "its memory, MB": peak_memory_mb(),
        "scoring, µs a word": 1e6 * (time.perf_counter() - start) / SCORED,
    }


def ngram_cost(tokens: int, vocabulary: int) -> dict:
    """Time and memory of Kneser-Ney 5: counting and smoothing, and scoring."""
    needed = counts.memory_of(tokens, ORDER)
    if needed > psutil.virtual_memory().available:
        return {"Kneser-Ney 5's memory, MB": peak_memory_mb() + needed / 2**20}
    return _kneser_ney("Kneser-Ney 5", tokens, vocabulary, counts.MEMORY) | {
        "Kneser-Ney 5's memory, MB": peak_memory_mb()
    }


def ngram_cost_in_files(tokens: int, vocabulary: int) -> dict:
    """The time where the counts lie in files; the system keeps as much of these in memory as is free."""
    with TemporaryDirectory(dir=".") as folder:
        return _kneser_ney("Kneser-Ney 5 in files", tokens, vocabulary, counts.Store(Path(folder), counts.AT_ONCE))


def _kneser_ney(name: str, tokens: int, vocabulary: int, store: counts.Store) -> dict:
    stream = zipf.ids(tokens + TESTED, vocabulary)
    start = time.perf_counter()
    model = kneser_ney.fit(counts.count(stream[:tokens], ORDER, vocabulary, store), undefined="fixed")
    fitted = time.perf_counter()
    model.log_probabilities(stream[:0], stream[tokens:])
    return {
        f"{name}, µs a word": 1e6 * (fitted - start) / tokens,
        f"{name}, scoring, µs a word": 1e6 * (time.perf_counter() - fitted) / TESTED,
    }


def cluster_cost(tokens: int, vocabulary: int) -> dict:
    """Time and memory of a pass of clustering over all words."""
    stream, ends = zipf.ids(tokens, vocabulary), []
    exchange.exchange(np.arange(100, dtype=np.int32), 100, 10, 0.0, 1)  # compiles
    exchange.exchange(stream, vocabulary, CLASSES, 0.0, 2, progress=lambda gain: ends.append(time.perf_counter()))
    return {"a pass of clustering, s": ends[1] - ends[0], "its peak, MB": peak_memory_mb()}


def run() -> pd.DataFrame:
    """A line a size."""
    sizes = [(1_000_000, vocabulary) for vocabulary in VOCABULARIES] + [(tokens, 18_000) for tokens in TOKENS]
    lines = []
    for size in dict.fromkeys(sizes):
        lines.append({})
        for cost in (network_cost, ngram_cost, ngram_cost_in_files, cluster_cost):
            lines[-1] |= setting.in_processes(cost, [size])[0]
        print(pd.DataFrame(lines).to_string(), flush=True)
    return pd.DataFrame(lines).set_index(["words", "vocabulary"])


def picture(costs: pd.DataFrame) -> str:
    """Microseconds a word by the size of the vocabulary, and of the corpus; an SVG. costs: as `run` has them."""
    costs = costs.reset_index()
    costs["a pass of clustering, µs a word"] = 1e6 * costs["a pass of clustering, s"] / costs["words"]
    panels = {  # the size that varies, among the lines in which the other one is the usual
        "vocabulary": ("words of vocabulary, |V|", costs[costs["words"] == costs["words"].mode()[0]]),
        "words": ("words of training", costs[costs["vocabulary"] == costs["vocabulary"].mode()[0]]),
    }
    with style.figure(8, 3.4) as figure:
        for axes, (by, (label, lines)) in zip(figure.subplots(1, 2, sharey=True), panels.items(), strict=True):
            lines = lines.sort_values(by)
            for column in [column for column in costs if column.endswith("µs a word")]:
                axes.plot(lines[by], lines[column], "o-", markersize=4, label=column.removesuffix(", µs a word"))
            axes.set(xscale="log", yscale="log", xlabel=label)
        figure.axes[0].set_ylabel("microseconds a word, one core")
        figure.axes[1].legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=9)
        return style.svg(figure)
