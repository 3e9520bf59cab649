"""What code by hand gains over torch's own: Adam on rows, dropout, products by oneDNN, the gradient of the energy
network's pairs, exact scoring.

One batch again and again on one thread, the ways in turn, the median of the turns. `times ours`: above 1 where ours is
faster. We write a gradient by hand only where that is 1.3 times faster than the best that autograd does.
"""

import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from unittest.mock import patch

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from benchmarks import setting, zipf
from pipeline.config.recipe import Recipe
from pipeline.core.families import energy, feedforward
from pipeline.core.networks.registry import build
from pipeline.core.networks.softmax import log_partition
from pipeline.core.training import trainer as trainer_file
from pipeline.core.training.products import by_onednn
from pipeline.core.training.trainer import Trainer

VOCABULARY = 17_907  # Brown's
SCORED = 1024  # contexts
REPEATS = 60


def pairs_by_hand(network: energy.EnergyNetwork, context: Tensor, target: Tensor, words: Tensor, off: Tensor) -> None:
    """The gradient of energy.EnergyNetwork.loss that autograd gets, written out, a few contexts at a time.

    For one context with t_k = tanh(p + g_k): dL/dE = softmax(E) - [target]; dL/dv = sum_k dL/dE_k t_k;
    s_k = dL/dE_k v (1 - t_k^2); dL/dp = sum_k s_k; dL/dg_k = s_k, summed over the contexts.
    """
    p, (g, v, b) = network.context_part(context), network.word_part(words)
    parts = (p, g, v, b - off)
    with torch.no_grad():
        slopes = [torch.zeros_like(part) for part in parts]
        column = torch.searchsorted(words, target)
        few = max(1, energy.CELLS // g.numel())
        for first in range(0, len(p), few):
            some = slice(first, first + few)
            t = (p[some, None] + g).tanh_()  # (B, K, h)
            y = (t * v).sum(2) if network.architecture.indexed else nn.functional.linear(t, v)[:, :, 0]
            dy = torch.softmax(y + parts[3], 1)
            dy[torch.arange(len(dy)), column[some]] -= 1
            dy /= len(p)
            weighted = t * dy[:, :, None]
            slopes[2] += weighted.sum(0) if network.architecture.indexed else weighted.sum((0, 1))
            s = torch.sub(dy[:, :, None], t.mul_(weighted), out=t).mul_(v)
            slopes[0][some] = s.sum(1)
            slopes[1] += s.sum(0)
            slopes[3] += dy.sum(0)
    torch.autograd.backward(parts, slopes)


def training(model: str, recipe: Recipe) -> Trainer:
    """A training of one of conf/models.yaml's networks on ids from Zipf's distribution."""
    ids = zipf.ids(100_000, VOCABULARY)
    return setting.trainer(setting.architecture(model), recipe, setting.Ids(ids, ids[:1000], VOCABULARY, 0))


def pairs(model: str) -> tuple[int, dict[str, Callable[[], object]]]:
    """Words of a batch, and ways to the gradient of an energy network, ours first."""
    recipe = setting.recipe(batch=256, samples=256, dropout=0.0)  # as conf/recipe/energy.yaml has them
    trainer = training(model, recipe)
    network = trainer.network
    context, target = trainer.batches.at(torch.arange(recipe.batch))
    batch = (context, target, *trainer.sampler.draw(target))

    def timed(way: Callable) -> Callable[[], None]:
        def call() -> None:
            way(*batch)
            network.zero_grad()

        return call

    return recipe.batch, {
        "ours: autograd": timed(lambda *batch: network.loss(*batch).backward()),
        "gradient by hand, a few contexts at a time": timed(lambda *batch: pairs_by_hand(network, *batch)),
    }


def scoring(model: str) -> tuple[int, dict[str, Callable[[], object]]]:
    """Words of a batch, and ways to their exact log-probabilities."""
    network: feedforward.FeedforwardNetwork = build(setting.architecture(model), VOCABULARY)
    network.initialise(0.03, 1.0, torch.zeros(VOCABULARY), torch.Generator().manual_seed(0))
    context = torch.from_numpy(zipf.ids(SCORED * 10, VOCABULARY)).long()[: SCORED * (network.architecture.n - 1)]
    context, target = context.view(SCORED, -1), context[:SCORED]
    z, weight, bias = network.output_inputs(context), network.WU, network.b

    def at_once() -> Tensor:
        return nn.functional.cross_entropy(nn.functional.linear(z, weight, bias), target, reduction="none")

    def by_logsumexp() -> Tensor:
        blocks = zip(weight.split(512), bias.split(512), strict=True)
        of_blocks = [torch.logsumexp(nn.functional.linear(z, *rows), 1) for rows in blocks]
        return torch.logsumexp(torch.stack(of_blocks), 0)

    def without_shift() -> Tensor:
        """By hand: one pass fewer over the scores, right only where none leaves what exp in float32 holds."""
        blocks = zip(weight.split(512), bias.split(512), strict=True)
        return sum(nn.functional.linear(z, *rows).exp_().sum(1) for rows in blocks).log()

    return SCORED, {
        "ours: log_softmax, blocks of words": lambda: log_partition(z, weight, bias),
        "logsumexp, blocks of words": by_logsumexp,
        "cross_entropy of all words": at_once,
        "by hand: no shift by the maximum": without_shift,
    }


class Stock:
    """torch.optim.SparseAdam for the tables of a trainer's network, torch.optim.Adam for the rest."""

    def __init__(self, trainer: Trainer):
        recipe, named = trainer.recipe, dict(trainer.network.named_parameters())
        adam = {"lr": recipe.rate, "betas": (recipe.beta1, recipe.beta2), "eps": recipe.epsilon}
        tables = [named.pop(name) for name in trainer.network.tables]
        self.optimisers = [torch.optim.SparseAdam(tables, **adam), torch.optim.Adam(named.values(), **adam, fused=True)]

    def step(self, rate: float, words: int) -> None:
        """One update, always at the recipe's rate: this is for its time alone."""
        for optimiser in self.optimisers:
            optimiser.step()
            optimiser.zero_grad()


def steps(model: str) -> tuple[int, dict[str, Callable[[], object]]]:
    """Words of a batch, and ways through a step of training, each on a network of its own."""
    recipe = setting.recipe(dropout=0.2)
    trainers = [training(model, recipe) for _ in range(4)]
    for trainer in trainers[1:3]:
        trainer.optimiser = Stock(trainer)
    trainers[2].network.dropout = nn.Dropout(recipe.dropout)
    trainers[3].network.bfloat16 = False
    batch = some_batch(trainers[0])
    names = (
        "ours: Adam on rows, dropout by bytes",
        "torch.optim.SparseAdam",
        "SparseAdam and torch.nn.Dropout",
        "in float32",
    )
    return recipe.batch, {name: partial(each._step, *batch) for name, each in zip(names, trainers, strict=True)}


def some_batch(trainer: Trainer) -> tuple[Tensor, Tensor]:
    """Contexts and targets at random places of training."""
    random = torch.Generator().manual_seed(0)
    return trainer.batches.at(torch.randint(trainer.batches.words, (trainer.recipe.batch,), generator=random))


def full_steps(model: str) -> tuple[int, dict[str, Callable[[], object]]]:
    """Words of a batch, and ways through a step of training by the published settings without sampling."""
    recipe = setting.recipe("paper")
    trainer = training(model, recipe)
    network, batch = trainer.network, some_batch(trainer)

    def by_mkl() -> None:
        with patch.object(trainer_file, "by_onednn", nullcontext):
            trainer._step(*batch)

    z, weight = network.output_inputs(batch[0]).detach(), network.WU.detach()

    def products() -> None:
        with by_onednn():
            y = z @ weight.T
            _ = y @ weight, y.T @ z

    ways = {"ours: products by oneDNN": partial(trainer._step, *batch), "products by MKL": by_mkl}
    return recipe.batch, ways | {"the output layer's three products alone": products}


def measure(words: int, ways: dict[str, Callable[[], object]]) -> pd.DataFrame:
    """Microseconds a word of each way, and over the first one's."""
    seconds = {way: [] for way in ways}
    turns = list(ways.items())
    for turn in range(REPEATS):
        first = turn % len(turns)  # who comes first waits for memory that the others then find in the cache
        for way, call in turns[first:] + turns[:first]:
            start = time.perf_counter()
            call()
            seconds[way].append(time.perf_counter() - start)
    cost = pd.Series({way: 1e6 * np.median(each) / words for way, each in seconds.items()})
    return pd.DataFrame({"µs a word": cost, "times ours": cost / cost.iloc[0]}).rename_axis("way")


def run() -> pd.DataFrame:
    """A line for each way."""
    torch.set_num_threads(1)
    found = {f"training step, {model}": measure(*steps(model)) for model in ("mlp9", "mlp1")}
    found |= {f"full softmax, {model}": measure(*full_steps(model)) for model in ("mlp9", "mlp1")}
    found |= {f"gradient, {model}": measure(*pairs(model)) for model in ("cycling5", "energy5")}
    with torch.no_grad():
        found |= {f"scoring, {model}": measure(*scoring(model)) for model in ("mlp9", "mlp1")}
    return pd.concat(found, names=["what"])
