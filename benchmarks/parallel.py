"""Training on two processes: data-parallel, parameter-parallel, and the paper's own without locks.

MLP9, some hundred batches, a core a process; once with the full softmax, as the paper trained, and once with the
table's sampled one. `exchanged` is what one rank puts into sums over the ranks, `share of time` how long it spends
there, waiting included; the paper's parameter-parallel program spent 1/15. Without locks (Hogwild) two processes
write into the same memory, each with its own words; nothing is exchanged, and no run is like another.
"""

import tempfile
from collections.abc import Callable
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pandas as pd
import torch.distributed as dist
import torch.multiprocessing as multiprocessing

from benchmarks import setting
from pipeline.core import parallel
from pipeline.core.networks.feedforward import Network

WORDS = 51_200
SOFTMAXES = {"full": 0, "sampled, 1,024 words": 1024}


def timed(network: Network, samples: int, seed: int, ready: Callable[[], object] = lambda: None) -> float:
    """Seconds for WORDS words of training; `ready` returns when all may begin."""

    def forget() -> None:
        if hasattr(network, "exchange"):
            network.exchange.bytes, network.exchange.seconds = 0, 0.0

    run = setting.trainer(network, setting.recipe(samples=samples), setting.brown(), seed)
    ready()
    return setting.seconds_for(WORDS, run, warm=forget)


def rank(number: int, ranks: int, kind: str, samples: int, folder: str, shared: Network | None, all_set: Barrier):
    """One process; its figures go into a file."""
    if shared is None:
        dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=number, world_size=ranks)
        network = getattr(parallel, kind)(setting.architecture("mlp9"), setting.brown().vocabulary)
        seconds, exchange = timed(network, samples, 0), network.exchange
        figures = {"seconds": seconds, "bytes": exchange.bytes, "share": exchange.seconds / seconds}
        dist.destroy_process_group()
    else:
        # Each sets the parameters at its start; none may train while another still does.
        figures = {"seconds": timed(shared, samples, number, all_set.wait), "bytes": 0, "share": 0.0}
    pd.Series(figures).to_json(Path(folder, f"{number}.json"))


def measure(kind: str, ranks: int, samples: int) -> dict:
    """A line of the table. Without locks each process sees as many words as one alone, so together they see more."""
    shared = None
    if kind == "without locks":
        shared = Network(setting.architecture("mlp9"), setting.brown().vocabulary).share_memory()
    with tempfile.TemporaryDirectory() as folder:
        all_set = multiprocessing.get_context("spawn").Barrier(ranks)
        multiprocessing.spawn(rank, (ranks, kind, samples, folder, shared, all_set), nprocs=ranks)
        found = pd.DataFrame([pd.read_json(path, typ="series") for path in Path(folder).glob("*.json")])
    words = WORDS * (ranks if shared is not None else 1)
    return {
        "way": kind,
        "processes": ranks,
        "µs a word": 1e6 * found["seconds"].max() / words,
        "exchanged, bytes a word": found["bytes"].max() / words,
        "share of time": found["share"].max(),
    }


def run() -> pd.DataFrame:
    """A line for each softmax, way and number of processes."""
    lines = []
    for softmax, samples in SOFTMAXES.items():
        for kind in ("DataParallel", "ParameterParallel", "without locks"):
            for ranks in (1, 2):
                lines.append({"softmax": softmax} | measure(kind, ranks, samples))
    return pd.DataFrame(lines).set_index("softmax")
