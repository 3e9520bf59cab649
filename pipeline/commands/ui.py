"""MLflow's pages of the runs, on this machine alone. Prints the address at which they are.

MLflow 3 opens with a view of its own that shows no trainings: the address leads to the table of runs with their
perplexities, the best first.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from urllib.parse import urlencode

from pipeline.commands import Parser, whole_number
from pipeline.core.common.errors import InputError
from pipeline.running import tracking

EXAMPLE = "nplm ui --port 5001"
HOST = "127.0.0.1"
NO_RUNS = "no runs yet: `make repro` makes them, `make publish` those of results that are there"
MAIN = "nplm-brown"  # the experiment that is shown first
# A view that MLflow's pages open by its key, as their button "share view" makes them: columns and order of the runs.
KEY = "nplm"
SHOWN = ["metrics.`valid`", "metrics.`valid_raw`", "params.`recipe.name`"]
VIEW = {"selectedColumns": SHOWN, "orderByKey": SHOWN[0], "orderByAsc": True}


def arguments(parser: Parser) -> None:
    parser.add_argument("--port", type=whole_number(1), default=5000, metavar="N", help="default %(default)s")


def run(given: argparse.Namespace) -> None:
    """Runs MLflow's server until Ctrl-C."""
    store = os.environ["MLFLOW_TRACKING_URI"]
    if store.startswith("http"):
        raise InputError("MLFLOW_TRACKING_URI names a server: open its address in a browser")
    _check_free(given.port)
    if (file := tracking.sqlite_file()) and not file.exists():
        raise InputError(NO_RUNS)  # before the server makes one
    environment = {
        "MLFLOW_BACKEND_STORE_URI": store,  # not on the command line: it may hold a password
        "MLFLOW_REGISTRY_STORE_URI": store,  # or it says that it takes this one
        "PYTHONWARNINGS": "ignore",  # the server's own, of what its libraries will drop
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # seven processes that nobody here needs
    }
    command = [sys.executable, "-m", "mlflow", "server", "--host", HOST, "--port", str(given.port), "--workers", "1"]
    command += ["--uvicorn-opts", "--log-level warning"]  # a line for each request would hide the address
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # A session of its own: Ctrl-C reaches this process alone, which ends the server and what it has started.
    server = subprocess.Popen(command, env=os.environ | environment, start_new_session=True)
    try:
        for name, address in _addresses(given.port).items():  # while the server imports what it needs
            print(f"{name}: {address}", flush=True)
        print("The server takes some seconds to start. Ctrl-C stops it.", flush=True)
        server.wait()
    finally:
        with suppress(ProcessLookupError):  # all have ended
            os.killpg(server.pid, signal.SIGKILL)  # it writes only what its pages are asked to
        server.wait()


def _addresses(port: int) -> dict[str, str]:
    """Where MLflow shows the runs of each corpus's experiment as trainings, by validation perplexity."""
    try:
        client = tracking.open_store()
        experiments = {each.name: each.experiment_id for each in client.search_experiments()}
    except Exception as error:  # of whichever store or driver
        raise InputError(f"the store of runs can't be opened: {tracking.line(error)}") from error
    ours = sorted((name for name in experiments if name.startswith("nplm-")), key=lambda name: (name != MAIN, name))
    if not ours:
        raise InputError(NO_RUNS)
    for name in ours:
        client.set_experiment_tag(experiments[name], f"mlflow.sharedViewState.{KEY}", json.dumps(VIEW))
    view = urlencode({"workflowType": "machine_learning", "viewStateShareKey": KEY})
    return {name: f"http://{HOST}:{port}/#/experiments/{experiments[name]}/runs?{view}" for name in ours}


def _check_free(port: int) -> None:
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((HOST, port))
        except (OSError, OverflowError) as error:
            raise InputError(f"--port {port}: {error}; give another, as nplm ui --port 5050") from error
