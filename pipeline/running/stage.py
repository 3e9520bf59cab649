"""What each stage does around its work: it claims its folder, opens a run in MLflow, measures time and memory, and
writes `run.json` beside the result, as the last file.

MLflow takes longer to import than a mixture takes to compute. So where DVC runs one of the QUICK stages, the stage only
notes in its file of times what its run needs, and the report of its table logs the runs of all (backlog.py)."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from pipeline.config.base import Keys
from pipeline.data.corpus import Corpus
from pipeline.data.files import UNTRACKED, write_timing
from pipeline.data.record import describe
from pipeline.running import tracking
from pipeline.running.place import claimed, cost

QUICK = ("cluster", "ngram", "mix")  # stages that a report waits for, and that have nothing to show while they run


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
    waits = stage in QUICK and "DVC_STAGE" in os.environ
    tracked = nullcontext(tracking.Run(tracked=False)) if waits else tracking.running(record, data, training)
    untracked = {UNTRACKED: {"out": str(out), "data": str(data)} | tracking.code_state()} if waits else {}
    with claimed(out, timing), tracked as run:
        yield run
        costs = cost(start) | run.costs
        result = {"stage": stage, "name": record.name, "seed": record.seed, "data": record.data, "training": training}
        write_timing(timing, result | costs | untracked)
        record.write(out)
        run.call(lambda: tracking.log(run.id, out, data=data, cost=costs))
