"""Training on two processes: data-parallel, parameter-parallel, and the paper's own without locks.

MLP9, some hundred batches, a core a process; once with the full softmax, as the paper trained, once with the table's
sampled one, and once with the full softmax over 100,000 words, on fewer batches of ids drawn from Zipf's distribution.
`exchanged` is what one rank puts into sums over the ranks, `share of time` how long it spends there, waiting included;
the paper's parameter-parallel program spent 1/15. `peak memory` is of the rank that had most. Without locks (Hogwild)
two processes write into the same memory, each with its own words; nothing is exchanged, and no run is like another.
"""

import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier, Lock
from pathlib import Path

import pandas as pd
import torch.distributed as dist
import torch.multiprocessing as multiprocessing

from benchmarks import setting, zipf
from pipeline.core import parallel
from pipeline.core.families.feedforward import FeedforwardNetwork
from pipeline.running.place import peak_memory_mb


@dataclass(frozen=True)
class Softmax:
    """What a part of the table trains with, and how many words of it."""

    name: str
    samples: int  # 0: all words
    vocabulary: int  # 0: Brown's
    words: int
    ways: tuple[str, ...] = ("DataParallel", "ParameterParallel", "without locks")

    def corpus(self) -> setting.Ids:
        """Brown, or ids of a vocabulary that it does not have."""
        if not self.vocabulary:
            return setting.ids()
        stream = zipf.ids(100_000, self.vocabulary)
        return setting.Ids(stream, stream[:1000], self.vocabulary, 0)


NO_OTHERS = nullcontext()
SOFTMAXES = [
    Softmax("full", 0, 0, 51_200),
    Softmax("sampled, 1,024 words", 1024, 0, 51_200),
    Softmax("full, of 100,000 words", 0, 100_000, 10_240, ("ParameterParallel",)),
]


def timed(
    network: FeedforwardNetwork,
    softmax: Softmax,
    corpus: setting.Ids,
    seed: int,
    turn: AbstractContextManager = NO_OTHERS,
    ready: Callable[[], object] = lambda: None,
) -> float:
    """Seconds for the words of training. Of processes that share a network each sets its parameters while it has the
    `turn`: torch draws normal numbers in place, and two at once leave NaN. `ready` returns when all may begin."""

    def forget() -> None:
        if hasattr(network, "exchange"):
            network.exchange.bytes, network.exchange.seconds = 0, 0.0

    with turn:
        run = setting.trainer(network, setting.recipe(samples=softmax.samples), corpus, seed)
    ready()
    return setting.seconds_for(softmax.words, run, warm=forget)


def rank(
    number: int,
    ranks: int,
    kind: str,
    softmax: Softmax,
    folder: str,
    shared: FeedforwardNetwork | None,
    turn: Lock,
    all_set: Barrier,
):
    """One process; its figures go into a file."""
    corpus = softmax.corpus()
    if shared is None:
        dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=number, world_size=ranks)
        network = getattr(parallel, kind)(setting.architecture("mlp9"), corpus.words)
        seconds, exchange = timed(network, softmax, corpus, 0), network.exchange
        figures = {"seconds": seconds, "bytes": exchange.bytes, "share": exchange.seconds / seconds}
        dist.destroy_process_group()
    else:
        figures = {"seconds": timed(shared, softmax, corpus, number, turn, all_set.wait), "bytes": 0, "share": 0.0}
    figures |= {"memory": peak_memory_mb()}
    pd.Series(figures).to_json(Path(folder, f"{number}.json"))


def measure(kind: str, ranks: int, softmax: Softmax) -> dict:
    """A line of the table. Without locks each process sees as many words as one alone, so together they see more."""
    shared = None
    if kind == "without locks":
        shared = FeedforwardNetwork(setting.architecture("mlp9"), softmax.corpus().words).share_memory()
    with tempfile.TemporaryDirectory() as folder:
        own = multiprocessing.get_context("spawn")
        arguments = (ranks, kind, softmax, folder, shared, own.Lock(), own.Barrier(ranks))
        multiprocessing.spawn(rank, arguments, nprocs=ranks)
        found = pd.DataFrame([pd.read_json(path, typ="series") for path in Path(folder).glob("*.json")])
    words = softmax.words * (ranks if shared is not None else 1)
    return {
        "way": kind,
        "processes": ranks,
        "µs a word": 1e6 * found["seconds"].max() / words,
        "exchanged, bytes a word": found["bytes"].max() / words,
        "share of time": found["share"].max(),
        "peak memory, MB": found["memory"].max(),
    }


def run() -> pd.DataFrame:
    """A line for each softmax, way and number of processes."""
    lines = []
    for softmax in SOFTMAXES:
        for kind in softmax.ways:
            for ranks in (1, 2):
                lines.append({"softmax": softmax.name} | measure(kind, ranks, softmax))
    return pd.DataFrame(lines).set_index("softmax")
