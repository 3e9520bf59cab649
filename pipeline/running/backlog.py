"""Runs that are logged in MLflow after their stage has ended, from the files of the result.

`nplm publish` does this for all results of a checkout. Stages that DVC runs and that end soon (stage.py) note in their
files of times what a run needs. These runs are logged by `nplm repro` when the next stage begins, by a report (app.py
starts `python -m pipeline.running.backlog timings/table1`), or by `nplm ui`.
"""

import sys
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from pipeline.config.base import ROOT
from pipeline.data import record as records
from pipeline.data.files import UNTRACKED, read_json, untracked, write_json
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
    start = int(1000 * (end - timing.get("seconds", 0)))
    run_id = tracking.begin(record, data, source=source, training=timing.get("training", ""), start=start)
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


class Backlog:
    """The runs that wait, by the files of times in some folders."""

    def __init__(self, folders: Iterable[Path]):
        self.folders = list(folders)
        self.store = tracking.Run(
            consequence="runs of this table are not tracked yet; the next report, `make ui` or `make publish` logs them"
        )

    def log(self) -> int:
        """Logs the runs, and returns their number. If the store fails, those that are not logged go on waiting, and no
        further call tries."""
        if not untracked(self.folders):  # MLflow is imported only for those that wait
            return 0
        with lock():
            return self.store.call(self._log) or 0

    def _log(self) -> int:
        client = tracking.open_store()
        files = untracked(self.folders)  # read anew: another process may have held the lock
        for file in files:
            timing = read_json(file)
            out, data = (ROOT / timing[UNTRACKED][key] for key in ("out", "data"))
            if (out / records.FILE).is_file():
                find_or_log(client, out, data=data, timing=timing)
            write_json(file, {key: value for key, value in timing.items() if key != UNTRACKED})
        return len(files)


if __name__ == "__main__":
    print(f"{Backlog([Path(sys.argv[1])]).log()} runs in MLflow")
