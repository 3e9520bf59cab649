"""MLflow's pages of the runs, on this machine alone. Prints the address at which they are.

MLflow 3 opens with a view of its own that shows no trainings: the address leads to the table of runs, best first.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from urllib.parse import urlencode

from pipeline.commands.command import Parser, above_zero
from pipeline.data.errors import InputError

EXAMPLE = "nplm ui --port 5001"
HOST = "127.0.0.1"
MOST = 65535  # of a port
MAIN = "nplm-brown"  # the experiment that is shown first


def arguments(parser: Parser) -> None:
    """See the module."""
    parser.add_argument("--port", type=_port, default=5000, metavar="N", help="default %(default)s")


def run(given: argparse.Namespace) -> None:
    """Runs MLflow's server until Ctrl-C."""
    from pipeline.running import tracking

    elsewhere = os.environ.get("MLFLOW_TRACKING_URI", "")
    if elsewhere.startswith("http"):
        raise InputError("MLFLOW_TRACKING_URI names a server: open its address in a browser")
    _check_free(given.port)
    try:
        client = tracking.open_client()
        experiments = {found.name: found.experiment_id for found in client.search_experiments()}
    except tracking.unreachable() as error:
        raise InputError(f"the store of runs can't be opened: {tracking.told(error)}") from error
    ours = [name for name in experiments if name.startswith("nplm-")]
    if not ours:
        raise InputError("no runs yet: `make repro` makes them, `make publish` those of results that are there")
    name = MAIN if MAIN in ours else ours[0]
    print(f"{name}: {address(given.port, experiments[name])}", flush=True)
    for other in sorted(set(ours) - {name}):
        print(f"{other}: {address(given.port, experiments[other])}", flush=True)
    print("The server takes half a minute to start. Ctrl-C stops it.", flush=True)
    _serve(given.port, client.tracking_uri)


def _serve(port: int, store: str) -> None:
    """MLflow's server in a session of its own: Ctrl-C reaches this process alone, which ends it in good order."""
    environment = os.environ | {
        "MLFLOW_BACKEND_STORE_URI": store,  # not on the command line: it may hold a password
        "MLFLOW_REGISTRY_STORE_URI": store,  # or it says that it takes this one
        "PYTHONWARNINGS": "ignore",  # the server's own, of what its libraries will drop
    }
    command = [sys.executable, "-m", "mlflow", "server", "--host", HOST, "--port", str(port), "--workers", "1"]
    command += ["--uvicorn-opts", "--log-level warning"]  # a line for each request would hide the address
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    server = subprocess.Popen(command, env=environment, start_new_session=True)
    try:
        while server.poll() is None and not _answers(port):
            time.sleep(0.5)
        if server.poll() is None:
            print("It answers now.", flush=True)
        server.wait()
    finally:
        with suppress(ProcessLookupError):  # it may have ended by itself
            os.killpg(server.pid, signal.SIGTERM)
        server.wait()


def address(port: int, experiment: str) -> str:
    """Where MLflow shows an experiment's runs as trainings, by validation perplexity."""
    order = urlencode({"workflowType": "machine_learning", "orderByKey": "metrics.`valid`", "orderByAsc": "true"})
    return f"http://{HOST}:{port}/#/experiments/{experiment}/runs?{order}"


def _port(text: str) -> int:
    port = above_zero(text)
    if port > MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is above {MOST}")
    return port


def _answers(port: int) -> bool:
    import socket

    try:
        socket.create_connection((HOST, port), timeout=1).close()
    except OSError:
        return False
    return True


def _check_free(port: int) -> None:
    import socket

    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((HOST, port))
        except OSError as error:
            raise InputError(f"--port {port}: {error.strerror}; give another, as nplm ui --port 5050") from error
