"""Serving: a model behind MLflow's server, asked by eight clients at once. Well is an answer of valid JSON with a
reason where there is no perplexity, no error of the server's own, and memory that stays level."""

import atexit
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path

import psutil
import requests
from servers import free_port, wait_for

from pipeline.config.base import ROOT
from pipeline.models import served

CLIENTS, REQUESTS = 8, 200
MOST = 300 << 20  # bytes of memory that the server may gain
SENTENCE = "The jury said that it was fair."


def _texts(*texts: object) -> bytes:
    return json.dumps({"dataframe_records": [{"text": text} for text in texts]}).encode()


ASKED = {  # content of a request, and the codes that may answer it
    "a sentence": (_texts(SENTENCE), (200,)),
    "nulls": (_texts(None, SENTENCE, None), (200,)),
    "blanks": (_texts("", " ", "\n\n", SENTENCE), (200,)),
    "a megabyte": (_texts("word " * 200_000), (200,)),
    "another column": (json.dumps({"dataframe_records": [{"words": SENTENCE}]}).encode(), (400,)),
    "no column": (json.dumps({"dataframe_split": {"data": [[SENTENCE]]}}).encode(), (400,)),
    "a string": (json.dumps({"inputs": SENTENCE}).encode(), (200, 400)),
    "half a letter": (_texts("The \ud800 said .", SENTENCE), (200,)),
    "a byte order mark": (_texts("\ufeff" + SENTENCE), (200,)),
    "no JSON": (b'{"dataframe_records": [', (400,)),
    "nothing": (b"", (400,)),
    "noise": (bytes(range(256)) * 40, (400, 422)),
}


def trials(root: Path) -> Iterator:
    """Two hundred requests of each kind; where the server listens; what the model's files are."""
    yield "bound to this machine alone", partial(_bound, root)
    yield "no pickle among the model's files", partial(_unpickled, root)
    for name in ASKED:
        yield f"{REQUESTS} requests, {name}", partial(_tried, root, name)


def _tried(root: Path, name: str, folder: Path) -> str:
    port, process = _server(root)
    content, codes = ASKED[name]
    before = _memory(process)
    with ThreadPoolExecutor(CLIENTS) as clients:
        said = list(clients.map(lambda _: _asked(port, content, codes), range(REQUESTS)))
    gained = _memory(process) - before
    return next(filter(None, said), "") or f"{gained >> 20} MB more" * (gained > MOST)


def _bound(root: Path, folder: Path) -> str:
    port, process = _server(root)
    processes = (process, *process.children(recursive=True))
    open_ports = [each.laddr for one in processes for each in one.net_connections() if each.status == "LISTEN"]
    wrong = [f"{address.ip}:{address.port}" for address in open_ports if address.ip != "127.0.0.1"]
    return f"listens at {wrong}" if wrong else "listens nowhere" * (port not in {each.port for each in open_ports})


def _unpickled(root: Path, folder: Path) -> str:
    _server(root)
    files = [path for path in (root / "saved").rglob("*") if path.is_file()]
    return "".join(f"pickled: {path.name} " for path in files if path.read_bytes()[:1] == b"\x80")


def _asked(port: int, content: bytes, codes: tuple[int, ...]) -> str:
    header = {"Content-Type": "application/json"}
    answer = requests.post(f"http://127.0.0.1:{port}/invocations", data=content, headers=header, timeout=600)
    if answer.status_code not in codes or re.search("NaN|Infinity", answer.text):  # which JSON does not have
        return f"code {answer.status_code}: {answer.text[:200]}"
    read = answer.json()
    if answer.status_code != 200:
        return "" if read.get("message") or read.get("detail") or read.get("error_code") else f"no reason: {read}"
    lines = read["predictions"]
    return "" if all((line["perplexity"] is None) == bool(line["error"]) for line in lines) else f"no reason: {lines}"


def _memory(process: psutil.Process) -> int:
    return sum(each.memory_info().rss for each in (process, *process.children(recursive=True)))


@cache
def _server(root: Path) -> tuple[int, psutil.Process]:
    """A server of the tiny network, on a port of this machine alone; it ends with this process."""
    import mlflow

    packed, saved = root / "packed", root / "saved"
    for folder in (packed, saved):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(root / "data" / "brown", packed / "data")
    shutil.copytree(root / "predictions" / "table1" / "mlp9", packed / "predictions" / "mlp9")
    (packed / "clusters").mkdir()
    model = {"python_model": served.__file__, "signature": served.SIGNATURE, "artifacts": {"model": str(packed)}}
    model["model_config"] = {"name": "mlp9/0"}
    mlflow.pyfunc.save_model(saved, **model, code_paths=[str(ROOT / "pipeline")], pip_requirements=[])
    port = free_port()
    programs = Path(sys.executable).parent  # where MLflow looks for uvicorn
    command = [str(programs / "mlflow"), "models", "serve", "-m", str(saved), "--env-manager", "local", "-p", str(port)]
    environment = os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    with (root / "server.log").open("w") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
    atexit.register(os.killpg, process.pid, signal.SIGTERM)
    wait_for(f"http://127.0.0.1:{port}/ping")
    return port, psutil.Process(process.pid)
