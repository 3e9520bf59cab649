"""MLflow's store as the results of a checkout say it should be.

Each result below predictions/, clusters/ and features/ is a run, whether it was computed here or restored by DVC, with
what the stage itself logs, the paper's row as a note, and the corpus as a data set. A run that the stage has logged is
completed, not logged again. A grid whose table lies in reports/ is a run with one for each job below it. Of Brown's
models, networks with seed 0 and the best n-gram become models that `mlflow models serve` serves; the best by validation
is registered as `nplm`, alias `best`. To repeat it changes nothing. A second publish of one checkout waits for the
first; two machines that publish into one server at a time know nothing of each other.
"""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.commands.command import Parser
from pipeline.config.base import ROOT
from pipeline.data.errors import InputError
from pipeline.running import tracking

EXAMPLE = "nplm publish --models mlp9 best-ngram"
GO_ON = "what was published stays, repeat the command to go on"


def arguments(parser: Parser) -> None:
    """See the module."""
    parser.add_argument(
        "--root", default=ROOT, type=Path, metavar="FOLDER", help="the checkout to publish; default that of this code"
    )
    parser.add_argument(
        "--models", nargs="*", metavar="NAME", help="only these become models, without a name none; default all"
    )


def run(given: argparse.Namespace) -> None:
    """Prints what is in the store afterwards."""
    try:
        with in_turn():
            _publish(given.root.resolve(), given.models)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(GO_ON) from None
    except tracking.unreachable() as error:
        raise InputError(f"publishing stopped: {tracking.told(error)}; {GO_ON}") from error


@contextmanager
def in_turn() -> Iterator[None]:
    """Waits until no other publish of this checkout runs: both would create what neither has found."""
    from filelock import FileLock, Timeout

    lock = FileLock(ROOT / "mlflow.db.publish.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        print("another publish is under way: this one waits for it", file=sys.stderr)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _publish(root: Path, names: list[str] | None) -> None:
    from tqdm import tqdm

    from pipeline.commands.publisher import ALIAS, MODEL, Publisher
    from pipeline.commands.results import results

    found = results(root)
    served = {}
    for result in found:
        if result.serves:  # the same network of another table gets the table's name too
            name = result.run.name
            served[name if name not in served else f"{name}-{result.table}"] = result
    chosen = served if names is None else dict.fromkeys(names)
    unknown = [name for name in chosen if name not in served]
    if unknown:
        raise InputError(f"--models: {', '.join(unknown)} can't be served; there are: {', '.join(served) or 'none'}")
    publisher = Publisher(root)
    runs = {}
    for result in tqdm(found, desc="runs", disable=None):
        runs[result.folder] = publisher.publish(result)
    grids = sorted((root / "reports").glob("search-*.csv"))
    for table in grids:
        publisher.publish_grid(table)
    place = tracking.without_password(publisher.client.tracking_uri)
    print(f"{len(runs)} runs and {len(grids)} grids in {place}")
    ids = {name: publisher.logged(result) for name, result in served.items()}
    for name in tqdm([name for name in chosen if not ids[name]], desc="models", disable=None):
        ids[name] = publisher.log_model(name, served[name], runs[served[name].folder])
    there = [name for name in ids if ids[name]]
    if there:
        best = min(there, key=lambda name: served[name].figures["valid"])
        version = publisher.register(ids[best])
        print(f"{len(there)} models; the best by validation, {best}, is {MODEL}@{ALIAS}, version {version}")
