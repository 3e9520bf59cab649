"""Training on two processes: data-parallel, parameter-parallel, and the paper's own without locks.

MLP9, some hundred batches, a core a process; once with the full softmax, as the paper trained, and once with the
table's sampled one. `exchanged` is what one rank puts into sums over the ranks, `share of time` how long it spends
there, waiting included; the paper's parameter-parallel program spent 1/15. Without locks (Hogwild) two processes
write into the same memory, each with its own words; nothing is exchanged, and no run is like another.
"""

import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pandas as pd
import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from omegaconf import OmegaConf

from benchmarks.race import CORES, setting
from pipeline.core import parallel
from pipeline.core.checkpoint import Forgetful
from pipeline.core.networks.architecture import Architecture
from pipeline.core.networks.feedforward import Network
from pipeline.core.training import Trainer

WORDS = 51_200
SOFTMAXES = {"full": 0, "sampled, 1,024 words": 1024}


class EnoughError(Exception):
    """Ends a training whose time is known."""


def timed(network: Network, samples: int, seed: int) -> float:
    """Seconds for WORDS words of training, after a tenth of them to warm up."""
    corpus, base = setting("mlp9")
    recipe = replace(base.recipe, samples=samples)
    trainer = Trainer(network, recipe, base.corpus, seed, "cpu", Forgetful())
    seen, start = 0, 0.0

    def on_step(progress, words):
        nonlocal seen, start
        seen += words
        if not start and seen >= WORDS // 10:
            start, seen = time.perf_counter(), 0
            if hasattr(network, "exchange"):
                network.exchange.bytes, network.exchange.seconds = 0, 0.0
        if start and seen >= WORDS:
            raise EnoughError

    try:
        trainer.run(on_step)
    except EnoughError:
        return time.perf_counter() - start
    raise ValueError(f"{len(corpus.train)} words are too few to measure on")


def rank(number: int, ranks: int, kind: str, samples: int, folder: str, shared: Network | None) -> None:
    """One process; its figures go into a file."""
    torch.set_num_threads(1)
    if shared is None:
        dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=number, world_size=ranks)
        corpus, _ = setting("mlp9")
        network = getattr(parallel, kind)(architecture(), len(corpus.vocabulary))
        seconds, exchange = timed(network, samples, 0), network.exchange
        figures = {"seconds": seconds, "bytes": exchange.bytes, "share": exchange.seconds / seconds}
        dist.destroy_process_group()
    else:
        figures = {"seconds": timed(shared, samples, number), "bytes": 0, "share": 0.0}
    pd.Series(figures).to_json(Path(folder, f"{number}.json"))


def architecture() -> Architecture:
    """MLP9's."""
    return Architecture(**OmegaConf.load("conf/model/mlp9.yaml"))


def measure(kind: str, ranks: int, samples: int) -> dict:
    """A line of the table. Without locks each process sees as many words as one alone, so together they see more."""
    shared = None
    if kind == "without locks":
        corpus, _ = setting("mlp9")
        shared = Network(architecture(), len(corpus.vocabulary)).share_memory()
    with tempfile.TemporaryDirectory() as folder:
        multiprocessing.spawn(rank, (ranks, kind, samples, folder, shared), nprocs=ranks)
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
            for ranks in (1, CORES):
                lines.append({"softmax": softmax} | measure(kind, ranks, samples))
    return pd.DataFrame(lines).set_index("softmax")
