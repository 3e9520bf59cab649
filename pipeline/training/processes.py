"""The processes of one training: this one alone, or those that `torchrun` has started (paper, section 3).

`parallel=threads` is one process with a thread on each core that it may use, for a large network trained by itself;
small ones gain more side by side. `torchrun --nproc-per-node 2 -m pipeline.train parallel=parameters model=mlp9` trains
one network on two processes, on one machine or many. All go through the same steps; the first alone writes results,
tracks and shows progress.
"""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import torch
import torch.distributed as dist
from tqdm import tqdm

from pipeline.data.errors import InputError
from pipeline.networks.base import Architecture, Network, build
from pipeline.training import interrupts
from pipeline.training.checkpoint import CheckpointFile

ALONE = ("none", "threads")
KINDS = {"data": "DataParallel", "parameters": "ParameterParallel"}  # classes of pipeline.training.parallel


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass
class Ranks:
    """This process among those of its training."""

    parallel: str  # one of ALONE or KINDS
    number: int  # from 0
    count: int
    device: str  # this process's own

    @property
    def first(self) -> bool:
        """Whether this is the process that writes and shows."""
        return self.number == 0

    def bar(self, what: str, words: int, done: int = 0) -> tqdm:
        """A progress bar over so many words, some of them done: on a terminal, and of the first process alone."""
        hidden = None if self.first else True
        return tqdm(desc=what, total=words, initial=done, unit="w", unit_scale=True, disable=hidden)

    def wait(self) -> None:
        """Returns when every process has come here."""
        if self.count > 1:
            dist.barrier()

    def part(self, architecture: Architecture, vocabulary: int) -> Network:
        """What this process has of the network, all parameters zero."""
        if self.parallel in ALONE:
            return build(architecture, vocabulary)
        # Imported here alone: it needs feedforward.py, on which the trainings of other families do not depend.
        parallel = import_module("pipeline.training.parallel")
        return getattr(parallel, KINDS[self.parallel])(architecture, vocabulary)

    def checkpoint(self, path: Path, seconds: float) -> CheckpointFile:
        """This process's checkpoint; with others, one that all of them write at the same step."""
        return CheckpointFile(path, seconds) if self.count == 1 else _Together(path, seconds)

    def whole(self, network: Network) -> dict[str, torch.Tensor]:
        """The parameters of the network that all processes have trained, on each of them."""
        return network.whole() if self.parallel == "parameters" else network.state_dict()


@contextmanager
def joined(parallel: str, family: str, device: str) -> Iterator[Ranks]:
    """The processes of this training, ready to talk to each other while the block runs.

    parallel: none, threads, data or parameters; family: of the network; device: cpu or cuda (each process its own).
    """
    count = int(os.environ.get("WORLD_SIZE", "1"))  # what torchrun sets
    if parallel not in (*ALONE, *KINDS):
        raise InputError(f"parallel={parallel}: choose one of {', '.join((*ALONE, *KINDS))}")
    if parallel in KINDS and family != "feedforward":
        raise InputError(f"parallel={parallel}: only the feedforward family trains so, and this is {family}")
    if parallel in ALONE and count > 1:
        raise InputError(f"{count} processes would train the same network each: say parallel=data or =parameters")
    # One thread a process (pipeline/__init__.py) unless more are asked for: what is summed in which order decides bits.
    torch.set_num_threads(cores() if parallel == "threads" else 1)
    if parallel in ALONE or count == 1:
        yield Ranks(parallel, 0, 1, device)
        return
    if ":" in device:
        raise InputError(f"device={device} for {count} processes: say device=cuda, and each takes one of its own")
    if device == "cuda":
        device = f"cuda:{os.environ['LOCAL_RANK']}"
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if device.startswith("cuda") else "gloo")
    if dist.get_rank() > 0:
        logging.disable(logging.INFO)
    try:
        yield Ranks(parallel, dist.get_rank(), count, device)
    finally:
        dist.destroy_process_group()


class _Together(CheckpointFile):
    """A checkpoint in as many files as processes: written at the same step, read only if all agree on it."""

    def tick(self, save: Callable[[], None]) -> None:
        """Saves when the first process says so, or before all stop because a signal has come to one of them."""
        said = [None] * dist.get_world_size()
        dist.all_gather_object(said, (self.due(), interrupts.asked()))
        self.save_if(said[0][0], any(stop for _, stop in said), save)

    def complete(self) -> None:
        """Waits until all have written, so that no file is replaced before every new one is there."""
        dist.barrier()

    def read(self) -> dict | None:
        """What the file holds, where all processes stand at the same step."""
        found = super().read()
        steps = [None] * dist.get_world_size()
        dist.all_gather_object(steps, found and (found["progress"]["epoch"], found["progress"]["step"]))
        if len(set(steps)) == 1:
            return found
        raise InputError(
            f"the processes' checkpoints are of different steps, {steps}: one was removed or damaged, or all were "
            f"killed in the instant of saving; remove this training's files, such as {self.path}, to begin again"
        )
