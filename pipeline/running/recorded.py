"""What each stage with a result of its own does around its work: it opens a run in MLflow, takes the time, and leaves
`run.json` beside the result, the last file of all."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.data import record
from pipeline.data.corpus import Corpus
from pipeline.data.files import write_timing
from pipeline.running import paper, tracking
from pipeline.running.places import claimed, cost


@contextmanager
def recorded(
    stage: str, config: object, corpus: Corpus, first: bool = True, run_id_file: Path | None = None
) -> Iterator[tracking.Run]:
    """The run of a stage's configuration object on a corpus, with keys `data`, `out` and `timing`.

    `costs` of the run that the block gets are what it adds to its time, or says in its place. first: whether this is
    the process that writes and tracks; another one only does its share of the work. run_id_file: see tracking.run.
    """
    made = record.describe(stage, config, corpus.counts["digest"])
    if not first:
        yield tracking.Run()
        return
    start = time.perf_counter()
    data, out = Path(config.data), Path(config.out)
    with claimed(out, Path(config.timing)), tracking.run(made, experiment_name(data), run_id_file) as tracked:
        tracked.reads(data, made.data)
        tracked.note(paper.notes(paper.table_of(out)).get(made.name, ""))
        yield tracked
        spent = cost(start) | tracked.costs
        write_timing(Path(config.timing), {"stage": stage, "name": made.name, "seed": made.seed} | spent)
        tracked.cost(spent)
        made.write(out)
        tracked.files(*(out / name for name in FILES))


FILES = (record.FILE, "metrics.json", "curve.csv")  # of a result, small enough to be shown in MLflow


def experiment_name(data: Path) -> str:
    """MLflow's experiment of a preprocessed corpus: nplm-brown, or of some of its texts alone nplm-brown-20-texts."""
    if not (data / record.FILE).is_file():  # a corpus that preprocess did not write
        return f"nplm-{data.name}"
    corpus = record.read(data).config["corpus"]
    return f"nplm-{corpus['name']}" + (f"-{corpus['texts']}-texts" if corpus["texts"] else "")
