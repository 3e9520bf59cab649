"""What each stage does around its work: it claims the folder that it writes, opens a run in MLflow, takes the time,
and leaves `run.json` beside the result, the last file of all."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.config.base import Keys
from pipeline.data import record
from pipeline.data.corpus import Corpus
from pipeline.data.files import write_timing
from pipeline.running import tracking
from pipeline.running.place import claimed, cost


@contextmanager
def recorded(
    stage: str, config: Keys, corpus: Corpus, first: bool = True, training: str = ""
) -> Iterator[tracking.Run]:
    """The run of a stage's settings on a corpus, with keys `data`, `out` and `timing`.

    `costs` of the run that the block gets are what it adds to its time, or says in its place. first: whether this is
    the process that writes and tracks; another one only does its share of the work. training: see tracking.begin.
    """
    if not first:
        yield tracking.Run(tracked=False)
        return
    made, start = record.describe(stage, config, corpus.counts["digest"]), time.perf_counter()
    data, out, timing = Path(config.data), Path(config.out), Path(config.timing)
    with claimed(out, timing), tracking.running(made, data, training) as run:
        yield run
        spent = cost(start) | run.costs
        what = {"stage": stage, "name": made.name, "seed": made.seed, "data": made.data, "training": training}
        write_timing(timing, what | spent)
        made.write(out)
        run.call(tracking.log, out, data, spent)
