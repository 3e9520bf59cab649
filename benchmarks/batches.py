"""The paper's updates, word by word, against sums over a few words, on the first 50,000 words of the training part.

recipe=paper sums the gradients of up to 64 words into one update, with t counting words. If the sum stands for 64
updates in a row, validation perplexity after each epoch is the same; it is that of the stopping tokens, with MLP9.
"""

from dataclasses import replace

import pandas as pd

from benchmarks import setting

WORDS = 50_000
BATCHES = [1, 16, 64]
EPOCHS = 2


def curve(batch: int) -> pd.DataFrame:
    """The learning curve with so many words an update."""
    corpus = setting.brown()
    first = replace(corpus, train=corpus.train[:WORDS])
    short = setting.trainer(setting.architecture("mlp9"), setting.recipe("paper", batch=batch, epochs=EPOCHS), first)
    short.run()
    return pd.DataFrame(short.progress.curve).assign(batch=batch)


def run() -> pd.DataFrame:
    """A line an epoch: validation perplexity by words an update."""
    curves = pd.concat(setting.in_processes(curve, [(batch,) for batch in BATCHES]))
    table = curves.pivot(index="epoch", columns="batch", values="valid_perplexity")
    return table.rename(columns="{} words an update".format)
