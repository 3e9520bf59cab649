"""The paper's updates, word by word, against sums over some words: MLP9, one whole epoch of training.

recipe=paper sums the gradients of some words (its `batch`) into one update, with t counting words. If the sum stands
for as many updates in a row, validation perplexity is the same: raw, of all of validation. With single words this takes
an hour or so. Minutes are a core's own, with the scoring of validation: they hold beside other work too.
"""

import os
import time
from unittest.mock import patch

import pandas as pd

from benchmarks import setting

BATCHES = [1, 64, 256]
# glibc else gives the memory of each update's gradients back to the system, which then clears it for the next: with
# single words that takes twice as long as the rest.
KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": "1000000000", "MALLOC_TRIM_THRESHOLD_": "1000000000"}


def epoch(batch: int) -> dict[str, float]:
    """What an epoch with so many words an update comes to."""
    recipe = setting.recipe("paper", batch=batch, epochs=1)
    trainer = setting.trainer(setting.architecture("mlp9"), recipe, setting.ids())
    start = time.process_time()
    trainer.run()
    seconds = time.process_time() - start
    (line,) = trainer.progress.curve
    return {
        "words an update": batch,
        "valid_raw": line["valid_perplexity"],
        "minutes of a core": seconds / 60,
    }


def run() -> pd.DataFrame:
    """A line for each number of words."""
    with patch.dict(os.environ, KEEP_MEMORY):  # glibc reads it when a process starts
        lines = setting.in_processes(epoch, [(batch,) for batch in BATCHES])
    return pd.DataFrame(lines).set_index("words an update")
