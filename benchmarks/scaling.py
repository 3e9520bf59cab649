"""Cost by the size of the vocabulary and of the corpus, on ids drawn from Zipf's distribution.

For each size, in a process of its own on one thread: training steps of MLP9 by the table's recipe, exact scoring, and
Kneser-Ney 5.
"""

import time

import pandas as pd

from benchmarks import setting, zipf
from pipeline.networks.base import score
from pipeline.ngrams import counts, kneser_ney
from pipeline.running import app

VOCABULARIES = [5_000, 18_000, 50_000, 100_000]  # at a million words
TOKENS = [100_000, 1_000_000, 14_000_000]  # at 18,000 words of vocabulary
TRAINED = 400_000  # words of which the time is taken
SCORED = 10_000


def network_cost(tokens: int, vocabulary: int) -> dict:
    """Time and memory of training and exact scoring."""
    stream = zipf.ids(tokens, vocabulary)
    start = time.perf_counter()
    corpus = setting.Ids(stream, stream[:1000], vocabulary, 0)
    trainer = setting.trainer(setting.architecture("mlp9"), setting.recipe(), corpus)
    ready = time.perf_counter() - start
    trained = setting.seconds_for(TRAINED, trainer)
    start = time.perf_counter()
    score(trainer.network, trainer.windows[:SCORED, :-1].numpy(), stream[:SCORED])
    return {
        "words": tokens,
        "vocabulary": vocabulary,
        "ready, s": ready,
        "training, µs a word": 1e6 * trained / TRAINED,
        "scoring, µs a word": 1e6 * (time.perf_counter() - start) / SCORED,
        "peak memory of the network, MB": app.peak_memory_mb(),
    }


def ngram_cost(tokens: int, vocabulary: int) -> dict:
    """Time and memory of Kneser-Ney 5: counting, smoothing, and scoring a tenth."""
    stream = zipf.ids(tokens, vocabulary)
    start = time.perf_counter()
    model = kneser_ney.fit(counts.count(stream, 5, vocabulary), fallback=True)
    fitted = time.perf_counter()
    model.log_probabilities(stream[:0], stream[: tokens // 10])
    return {
        "Kneser-Ney 5, µs a word": 1e6 * (fitted - start) / tokens,
        "its scoring, µs a word": 1e7 * (time.perf_counter() - fitted) / tokens,
        "its peak memory, MB": app.peak_memory_mb(),
    }


def run() -> pd.DataFrame:
    """A line a size."""
    sizes = [(1_000_000, vocabulary) for vocabulary in VOCABULARIES] + [(tokens, 18_000) for tokens in TOKENS]
    lines = []
    for size in dict.fromkeys(sizes):
        lines.append(setting.in_processes(network_cost, [size])[0] | setting.in_processes(ngram_cost, [size])[0])
        print(pd.DataFrame(lines).to_string(), flush=True)
    return pd.DataFrame(lines).set_index(["words", "vocabulary"])
