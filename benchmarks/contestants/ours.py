"""This project's: pipeline/core/training. As early stopping keeps them, the weights are those of the best epoch."""

import math

import torch

from benchmarks import setting
from benchmarks.contestants import Task
from pipeline.core.networks.base import Network


def train(task: Task) -> tuple[Network, float]:
    """The network, and the seconds that its training took."""
    threads = torch.get_num_threads()
    trainer = setting.trainer(task.shape, task.recipe, task.corpus, int(torch.randint(2**31, ())))
    torch.set_num_threads(threads)
    batches = trainer.batches
    batches.windows, batches.words = torch.cat([task.context, task.target[:, None]], 1), len(task.target)
    batches.steps = math.ceil(batches.words / task.recipe.batch)
    seconds = setting.clocked(trainer)
    task.steps.extend(trainer.watch.steps)
    return trainer.network, seconds
