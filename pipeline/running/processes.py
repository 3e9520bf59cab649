"""The processes of one training: only this one, or those that `torchrun` has started (paper, section 3).

`parallel=threads` is one process with a thread on each core, for one large network; several small networks train faster
side by side. `torchrun --nproc-per-node 2 -m pipeline.train parallel=parameters model=mlp9` trains one network on two
processes, on one machine or several. All processes take the same steps; only the first one writes results, logs to
MLflow and shows progress.
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from pipeline.core.common.errors import InputError

TOGETHER = ("data", "parameters")  # methods by which the processes of torchrun train one network


@dataclass
class Ranks:
    """This process among those of its training."""

    parallel: str  # as in conf/train.yaml
    number: int  # from 0
    count: int
    device: str  # of this process

    @property
    def first(self) -> bool:
        """Whether this is the process that writes and shows."""
        return self.number == 0

    def gathered(self, value: Any) -> list:
        """The values of all processes, in their order."""
        values = [value] * self.count
        if self.count > 1:
            dist.all_gather_object(values, value)
        return values

    def wait(self) -> None:
        """Returns when all processes have called it."""
        if self.count > 1:
            dist.barrier()


@contextmanager
def joined(parallel: str, family: str, device: str) -> Iterator[Ranks]:
    """The processes of this training, which can communicate while the block runs.

    parallel: as in conf/train.yaml; family: of the network; device: cpu or cuda (a different one for each process).
    Raises InputError if these do not fit together.
    """
    count = int(os.environ.get("WORLD_SIZE", "1"))  # set by torchrun
    if parallel in TOGETHER and family != "feedforward":
        raise InputError(f"parallel={parallel}: only the feedforward family trains so; use parallel=none or =threads")
    if parallel not in TOGETHER and count > 1:
        raise InputError(f"{count} processes would train the same network each: say parallel=data or =parameters")
    if count == 1:
        yield Ranks(parallel, number=0, count=1, device=device)
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
        yield Ranks(parallel, number=dist.get_rank(), count=count, device=device)
    finally:
        dist.destroy_process_group()
