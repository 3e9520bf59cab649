"""What each stage does around its work: it claims its folder, opens a run in MLflow, measures time and memory, and
writes `run.json` beside the result, as its last file.

MLflow with its database takes three seconds to import. So a stage that DVC runs and that ends within LIVE_AFTER seconds
only notes in its file of times what its run needs, and one process logs the runs of all such stages (backlog.py)."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.config.base import Keys
from pipeline.data.corpus import Corpus
from pipeline.data.files import UNTRACKED, write_timing
from pipeline.data.record import describe
from pipeline.running import tracking
from pipeline.running.place import claimed, cost

LIVE_AFTER = 120  # seconds after which a training that DVC runs shows its learning curve in MLflow


@contextmanager
def recorded(
    stage: str, config: Keys, corpus: Corpus, first: bool = True, training: str = ""
) -> Iterator[tracking.Run]:
    """The run of a stage on a corpus. config: its settings, with keys `data`, `out` and `timing`.

    The block may set `costs` of the run: further costs, or other values for time and memory. first: whether this
    process writes and tracks; any other process only does its share of the work. training: see tracking.begin.
    """
    if not first:
        yield tracking.Run(tracked=False)
        return
    record = describe(stage, config, corpus.counts["digest"])
    start = time.perf_counter()
    data = Path(config.data)
    out = Path(config.out)
    timing = Path(config.timing)
    after = LIVE_AFTER if "DVC_STAGE" in os.environ else 0
    with claimed(out, timing), tracking.running(record, data, training, after=after) as run:
        yield run
        costs = cost(start) | run.costs
        result = {"stage": stage, "name": record.name, "seed": record.seed, "data": record.data, "training": training}
        waits = run.waits
        untracked = {UNTRACKED: {"out": str(out), "data": str(data)} | tracking.code_state()} if waits else {}
        record.write(out)
        write_timing(timing, result | costs | untracked)  # last: a run that waits is logged from the whole result
        if not waits:
            run.call(lambda: tracking.log(run.id, out, data=data, cost=costs))
