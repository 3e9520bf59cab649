"""MLP9 by the published settings, and two ways to train that the papers may mean by their words.

Paragraphs in random order, each in the order of its words (NIPS 2000); and updates by asynchronous workers (JMLR,
section 3), simulated by gradients that are DELAY updates old.

    python -m benchmarks.interpretations paragraphs
    python -m benchmarks.interpretations stale

prints a line an epoch (running training perplexity, raw validation perplexity on all of it) and at the end the exact
training perplexity on 100,000 tokens at the best epoch.

    python -m benchmarks.interpretations tokens

prints the exact training perplexity of networks in predictions/published over several sets of tokens: what else the
paper may mean by its training perplexity.
"""

import sys
from collections import deque
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor

from benchmarks import setting
from pipeline.core.networks import registry
from pipeline.core.training import training_perplexity
from pipeline.core.training.batches import Windows
from pipeline.core.training.trainer import Epoch, Trainer, Watch
from pipeline.data.corpus import read_corpus

# Updates of 256 words that a gradient is late: 2,048 words. Forty processors, each with one word at a time, would be
# some 40 words late.
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
        self.optimiser.step(self._rate(), len(target))
        return loss.detach()


class Printing(Watch):
    """Prints the learning curve."""

    def epoch(self, epoch: Epoch) -> None:
        print(epoch.epoch, f"{epoch.train_perplexity:.1f} {epoch.valid_perplexity:.2f}", flush=True)


def train(interpretation: str) -> None:
    """Trains and prints. interpretation: paragraphs, or stale."""
    corpus, model = read_corpus("data/brown"), setting.architecture("mlp9")
    recipe, size = setting.recipe("paper", samples=1024), len(corpus.vocabulary)
    trainer_of = Stale if interpretation == "stale" else Trainer
    network = registry.build(model, size)
    trainer = trainer_of(network, recipe, corpus.train, corpus.valid, corpus.mark, 0, "cpu", Printing())
    if interpretation == "paragraphs":
        trainer.batches = Paragraphs(corpus.train, corpus.mark, model.n, recipe.batch, trainer.device, "random")
        trainer.batches.ends = np.flatnonzero(np.isin(corpus.train, [*corpus.counts["marks"].values()])) + 1
    weights = trainer.run().state_dict()
    exact = training_perplexity.sampled(model, weights, size, corpus.train, corpus.mark, 100_000)
    print(f"{interpretation}: epoch {trainer.progress.best} is best on validation, training perplexity {exact}")


def print_by_tokens() -> None:
    """Training perplexity over all tokens, and without some of them."""
    corpus = read_corpus("data/brown")
    ids, marks = corpus.train, np.isin(corpus.train, [*corpus.counts["marks"].values()])
    signs = np.array([not any(map(str.isalnum, word)) for word in corpus.vocabulary])[ids]
    unknown = ids == 0
    sets = {"all": ids >= 0, "no <unk>": ~unknown, "no marks": ~marks, "neither": ~unknown & ~marks}
    sets |= {"no signs, marks": ~signs & ~marks, "the first half": np.arange(len(ids)) < len(ids) / 2}
    for name in ("mlp1", "mlp3", "mlp5", "mlp7", "mlp9"):
        folder = Path("predictions/published", name, "0")
        if folder.is_dir():
            network = registry.build(setting.architecture(name), len(corpus.vocabulary))
            network.load_state_dict(load_file(folder / "weights.safetensors"))
            scored = network.score(ids, ids[:0], corpus.mark).astype(float)
            print(
                name, {label: round(float(np.exp(-scored[kept].mean())), 1) for label, kept in sets.items()}, flush=True
            )


if __name__ == "__main__":
    torch.set_num_threads(1)
    print_by_tokens() if sys.argv[1] == "tokens" else train(sys.argv[1])
