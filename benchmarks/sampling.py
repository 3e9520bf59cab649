"""Sampled softmaxes against the full one: Poisson sampling, which the table's recipe uses, and importance sampling.

MLP9 by the table's recipe over two epochs; perplexity is that of the stopping tokens, corrected for unseen words.
Bengio and Senecal (2003) report that importance sampling trains a hundred times faster than the full softmax, one
example at a time; here each side works on batches.
"""

import pandas as pd

from benchmarks import setting

EPOCHS = 2
SOFTMAXES = {
    "Poisson, 1,024 words": {"sampling": "poisson", "samples": 1024},
    "importance, 1,024 draws": {"sampling": "importance", "samples": 1024},
    "importance, 4,096 draws": {"sampling": "importance", "samples": 4096},
    "full": {"samples": 0},
}


def cost(name: str) -> dict:
    """Time of training on one core, evaluation left out, and where it leads."""
    corpus = setting.ids()
    run = setting.trainer(setting.architecture("mlp9"), setting.recipe(epochs=EPOCHS, **SOFTMAXES[name]), corpus)
    seconds, words = setting.clocked(run), EPOCHS * len(corpus.train)
    perplexity = run.progress.curve[-1]["valid_perplexity"]
    return {"softmax": name, "µs a word": 1e6 * seconds / words, "valid_corrected": perplexity}


def run() -> pd.DataFrame:
    """A line a softmax."""
    table = pd.DataFrame([setting.in_processes(cost, [(name,)])[0] for name in SOFTMAXES]).set_index("softmax")
    table["times faster than full"] = table.loc["full", "µs a word"] / table["µs a word"]
    return table
