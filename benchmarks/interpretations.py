"""MLP9 by the published settings, and two ways to train that the papers may mean by their words.

Paragraphs in random order, each in the order of its words (NIPS 2000); and updates by asynchronous workers (JMLR,
section 3), simulated by gradients that are DELAY updates old.

    python -m benchmarks.interpretations paragraphs
    python -m benchmarks.interpretations stale

prints a line an epoch (running training perplexity, raw validation perplexity on all of it) and at the end the exact
training perplexity on 100,000 tokens at the best epoch.
"""

import sys
from collections import deque

import numpy as np
import torch
from torch import Tensor

from benchmarks import setting
from pipeline.core import training_perplexity
from pipeline.core.networks import registry
from pipeline.core.training.batches import Windows
from pipeline.core.training.optimiser import update
from pipeline.core.training.trainer import Epoch, Trainer, Watch
from pipeline.data.corpus import read_corpus

# Updates of 256 words that a gradient is late: 2,048 words, where forty of the paper's processors, each with one word at
# a time, would be some 40 late.
DELAY = 8


class Paragraphs(Windows):
    """Each word of training once an epoch, the paragraphs in random order."""

    ends: np.ndarray  # (P,) where each paragraph ends, one behind its mark

    def shuffle(self, random: np.random.Generator) -> None:
        """See Batches."""
        pieces = np.split(np.arange(self.words), self.ends)
        places = np.concatenate([pieces[number] for number in random.permutation(len(pieces))])
        self.places = torch.from_numpy(places).to(self.windows.device)


class Stale(Trainer):
    """Each update adds the gradient that was computed DELAY updates before."""

    def _step(self, context: Tensor, target: Tensor) -> Tensor:
        self.late = getattr(self, "late", deque())
        self.network.train()
        loss = self.network.loss(context, target, *self.sampler.draw(target))
        loss.backward()
        parameters = list(self.network.parameters())
        self.late.append([parameter.grad for parameter in parameters])
        oldest = self.late.popleft() if len(self.late) > DELAY else [None] * len(parameters)
        for parameter, gradient in zip(parameters, oldest, strict=True):
            parameter.grad = gradient
        update(self.optimisers, self._rate(), len(target))
        return loss.detach()


class Printing(Watch):
    """Prints the learning curve."""

    def epoch(self, epoch: Epoch) -> None:
        print(epoch.epoch, f"{epoch.train_perplexity:.1f} {epoch.valid_perplexity:.2f}", flush=True)


def main(interpretation: str) -> None:
    """Trains and prints. interpretation: paragraphs, or stale."""
    corpus, model = read_corpus("data/brown"), setting.architecture("mlp9")
    recipe, size = setting.recipe("paper", samples=1024), len(corpus.vocabulary)
    torch.set_num_threads(1)
    trainer_of = Stale if interpretation == "stale" else Trainer
    network = registry.build(model, size)
    trainer = trainer_of(network, recipe, corpus.train, corpus.valid, corpus.mark, 0, "cpu", Printing())
    if interpretation == "paragraphs":
        trainer.batches = Paragraphs(corpus.train, corpus.mark, model.n, recipe.batch, trainer.device, "random")
        trainer.batches.ends = np.flatnonzero(np.isin(corpus.train, [*corpus.counts["marks"].values()])) + 1
    weights = trainer.run().state_dict()
    exact = training_perplexity.sampled(model, weights, size, corpus.train, corpus.mark, 100_000)
    print(f"{interpretation}: epoch {trainer.progress.best} is best on validation, training perplexity {exact}")


if __name__ == "__main__":
    main(sys.argv[1])
