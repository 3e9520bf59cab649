"""What every stage with a result of its own does around its work: it opens a run in MLflow, takes the time, and leaves
`run.json` beside the result, the last file of all."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.data import record
from pipeline.data.corpus import Corpus
from pipeline.data.files import write_timing
from pipeline.running import tracking
from pipeline.running.app import cost


@contextmanager
def recorded(stage: str, config: object, corpus: Corpus, first: bool = True) -> Iterator[tracking.Run]:
    """The run of a stage's configuration object on a corpus, with keys `out` and `timing`.

    `costs` of the run that the block gets are what it adds to its time, or says in its place. first: whether this is
    the process that writes and tracks; another one only does its share of the work.
    """
    made = record.describe(stage, config, corpus.counts["digest"])
    if not first:
        yield tracking.Run(None, "")
        return
    start = time.perf_counter()
    with tracking.run(made) as tracked:
        yield tracked
        spent = cost(start) | tracked.costs
        write_timing(Path(config.timing), {"stage": stage, "name": made.name, "seed": made.seed} | spent)
        tracked.metrics(spent)
        made.write(Path(config.out))
