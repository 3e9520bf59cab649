"""The paper's updates, word by word, against sums over a few words, on the first 50,000 words of the training part.

recipe=paper sums the gradients of up to 64 words into one update, with t counting words. If the sum stands for 64
updates in a row, validation perplexity after each epoch is the same; it is that of the stopping tokens, with MLP9. Once
from random weights, as a training begins, and once from those that an epoch of the table's recipe leaves; epoch 0 is
before the first update.
"""

from dataclasses import replace

import pandas as pd

from benchmarks import setting

WORDS = 50_000
STARTS = ["random", "trained"]
BATCHES = [1, 16, 64]
EPOCHS = 2


def curve(start: str, batch: int) -> pd.DataFrame:
    """The learning curve from such weights with so many words an update."""
    corpus = setting.brown()
    first = replace(corpus, train=corpus.train[:WORDS])
    short = setting.trainer(setting.architecture("mlp9"), setting.recipe("paper", batch=batch, epochs=EPOCHS), first)
    if start == "trained":
        trained = setting.trainer(setting.architecture("mlp9"), setting.recipe(epochs=1), corpus).run()
        short.network.load_state_dict(trained.state_dict())
    before = {"epoch": 0, "valid_perplexity": setting.validation(short, short.network)}
    short.run()
    return pd.DataFrame([before, *short.progress.curve]).assign(start=start, batch=batch)


def run() -> pd.DataFrame:
    """A line an epoch of each start: validation perplexity by words an update."""
    curves = pd.concat(setting.in_processes(curve, [(start, batch) for start in STARTS for batch in BATCHES]))
    table = curves.pivot(index=["start", "epoch"], columns="batch", values="valid_perplexity")
    return table.rename(columns="{} words an update".format)
