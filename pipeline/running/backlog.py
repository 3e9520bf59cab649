"""Runs that are logged in MLflow after their stage has ended, from the files of the result.

`nplm publish` does this for all results of a checkout. `python -m pipeline.running.backlog timings/table1`, which a
report starts (app.py), does it for the quick stages that DVC has run: their files of times say what a run needs.
"""

import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from pipeline.data import record as records
from pipeline.data.files import UNTRACKED, read_json, write_json
from pipeline.running import tracking

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

NO_COST = ("seed", "cores")  # numbers in a file of times that are neither time nor memory


def lock() -> FileLock:
    """Held while a run is looked up and, if it is missing, logged, so that none is logged twice."""
    return FileLock(tracking.CHECKOUT / "mlflow.db.publish.lock")


def find_or_log(client: "MlflowClient", folder: Path, data: Path, timing: Mapping[str, Any]) -> str:
    """The id of a result's complete run. The run is logged if the store does not have it.

    folder: of the result; data: the folder of the corpus; timing: the stage's file of times, empty if there is none.
    The run names a commit only where `timing` has the note of a run that waits (UNTRACKED), which a stage of this
    checkout wrote. Any other result may have been made elsewhere.
    """
    for run in finished_runs(client, data, tracking.digest(folder)):
        return run.info.run_id
    record = records.read(folder)
    written = (folder / records.FILE).stat().st_mtime
    end = datetime.fromisoformat(timing["ended"]).timestamp() if "ended" in timing else written
    code = {key: value for key, value in timing.get(UNTRACKED, {}).items() if key in ("commit", "dirty")}
    source = {"mlflow.source.name": f"pipeline.{record.stage}"} | code
    run_id = tracking.begin(record, data, source=source, start=int(1000 * (end - timing.get("seconds", 0))))
    tracking.log(run_id, folder, data=data, cost=cost(timing))
    client.set_terminated(run_id, end_time=int(1000 * end))
    return run_id


def finished_runs(client: "MlflowClient", data: Path, output: str) -> "list[Run]":
    """The finished runs of the result with this digest. data: the folder of its corpus."""
    experiment = tracking.open_experiment(client, data)
    return client.search_runs([experiment], f"tags.`{tracking.OUTPUT}` = '{output}' and status = 'FINISHED'")


def cost(timing: Mapping[str, Any]) -> dict[str, float]:
    """Time and memory in a file of times."""
    return {key: value for key, value in timing.items() if isinstance(value, int | float) and key not in NO_COST}


def log_waiting(folder: Path) -> int:
    """Logs the runs that a folder of files of times says are not in MLflow yet. Returns their number."""
    timings = {file: read_json(file) for file in sorted(folder.glob("*.json"))}
    waiting = {file: timing for file, timing in timings.items() if UNTRACKED in timing}
    client = tracking.open_store()
    for file, timing in waiting.items():
        out, data = (Path(timing[UNTRACKED][key]) for key in ("out", "data"))
        if (out / records.FILE).is_file():
            find_or_log(client, out, data=data, timing=timing)
        write_json(file, {key: value for key, value in timing.items() if key != UNTRACKED})
    return len(waiting)


def main(folder: Path) -> None:
    """Logs the runs that wait in a folder of files of times, and prints their number. If the store fails, those that
    are not logged wait for the next report."""
    run = tracking.Run(
        consequence="runs of this table are not tracked yet; the next report or `make publish` logs them"
    )
    with lock():
        if (number := run.call(log_waiting, folder)) is not None:
            print(f"{number} runs in MLflow")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
