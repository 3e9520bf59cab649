"""The sampled softmax with sparse gradients (sparse.py) under torch.autocast to bfloat16."""

import torch
from torch import Tensor

from benchmarks.contestants import Task, full, sparse


def train(task: Task) -> tuple[sparse.Network, float]:
    """The network, and the seconds that its training took."""
    network = sparse.Network(task)

    def loss(context: Tensor, target: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return network.loss(context, target)

    return network, full.loop(network, sparse.optimisers(network, task), loss, task)
