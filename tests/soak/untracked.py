"""Tracking gone: MLflow's store answers nothing, errors or nonsense, has no room, or goes away half way. Well is
the result of an undisturbed run, within fifteen seconds more, and one line that says so."""

import http.server
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from . import room
from .few import Few
from .trial import Trial, call, differs

STAGES = ["cluster", "ngram", "train", "mix", "features"]
MOST = 15  # seconds that a store may cost
SAID = "MLflow can't be reached"


def trials(few: Few) -> Iterator[Trial]:
    """Each stage with each kind of store."""
    for stage in STAGES:
        for name, store in STORES.items():
            yield Trial(f"{stage}, {name}", partial(_tried, few, stage, store))


def _tried(few: Few, stage: str, store: object, folder: Path) -> str:
    # With a log that is printed, where the line is counted.
    def words(place: str) -> list[str]:
        return [word for word in few.words(stage, folder / place) if not word.startswith("hydra/job_logging")]

    start = time.monotonic()
    call(stage, *words("whole"))
    usual, start = time.monotonic() - start, time.monotonic()
    with store(folder) as uri:
        ended = call(stage, *words("out"), environment={"MLFLOW_TRACKING_URI": uri})
    spent = time.monotonic() - start
    if ended.code:
        return f"exit code {ended.code}: {ended.said.strip()[-200:]}"
    if spent > usual + MOST:
        return f"{spent - usual:.0f} seconds more"
    if ended.said.count(SAID) != 1 or "Traceback" in ended.said:
        return f"said {ended.said.count(SAID)} times: {ended.said.strip()[-200:]}"
    return differs(folder / "out", folder / "whole")


@contextmanager
def _address(folder: Path, text: str) -> Iterator[str]:
    yield text.format(folder=folder)


@contextmanager
def _no_database(folder: Path) -> Iterator[str]:
    (folder / "text.db").write_text("no database " * 1000)
    yield f"sqlite:///{folder}/text.db"


@contextmanager
def _dead_port(folder: Path) -> Iterator[str]:
    with socket.socket() as taken:  # bound, and nobody listens
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


@contextmanager
def _silent(folder: Path) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:  # takes calls and never answers
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@contextmanager
def _answers(folder: Path, code: int, content: bytes) -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.send_response(code)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = answer

        def log_message(self, *words: object) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@contextmanager
def _goes_away(folder: Path) -> Iterator[str]:
    """A database that is a folder's, which is gone as soon as the run has begun."""
    place = folder / "store"
    place.mkdir()

    def remove() -> None:
        while not (place / "mlflow.db").is_file() or (place / "mlflow.db").stat().st_size < 300_000:
            if done.wait(0.01):
                return
        os.truncate(place / "mlflow.db", 100)

    done = threading.Event()
    watcher = threading.Thread(target=remove, daemon=True)
    watcher.start()
    yield f"sqlite:///{place}/mlflow.db"
    done.set()
    watcher.join()


@contextmanager
def _without_room(folder: Path, left: int | str) -> Iterator[str]:
    with room.mounted(folder / "disk") as disk:
        room.leave(disk, left)
        yield f"sqlite:///{disk}/mlflow.db"


STORES = {
    "a folder that takes no files": partial(_address, text="sqlite:////proc/mlflow.db"),
    "no such driver": partial(_address, text="postgresql://somebody:secret@127.0.0.1/runs"),
    "no such scheme": partial(_address, text="nonsense://127.0.0.1"),
    "no address": partial(_address, text="http://[bad"),
    "a folder": partial(_address, text="sqlite:///{folder}"),
    "a name that nobody has": partial(_address, text="http://nobody.invalid"),
    "a file that is no database": _no_database,
    "a dead port": _dead_port,
    "a port that never answers": _silent,
    "answers 500": partial(_answers, code=500, content=b"{}"),
    "answers 200 without JSON": partial(_answers, code=200, content=b"<html>"),
    "answers 404": partial(_answers, code=404, content=b"gone"),
    "a database that is cut while the stage runs": _goes_away,
}
if room.mountable():
    for left in (0, 64, 256, 700, room.READ_ONLY):
        STORES[f"a disk, free: {left}"] = partial(_without_room, left=left)
