"""Shows the runs in MLflow's pages, on this machine only. Prints their address.

MLflow 3 opens with a view that shows no trainings. The printed address leads to the table of runs with their
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
from pipeline.config.base import ROOT
from pipeline.core.common.errors import InputError
from pipeline.running import tracking
from pipeline.running.backlog import Backlog

EXAMPLE = "nplm ui --port 5001"
HOST = "127.0.0.1"
NO_RUNS = "no runs yet: `make repro` makes them, `make publish` those of results that are there"
MAIN = "nplm-brown"  # the experiment that is listed first
# A view (columns and order of the runs) that MLflow's pages open by its key, as the button "share view" makes it.
KEY = "nplm"
METRICS = ("valid_raw", "paper_valid", "valid_corrected")  # test is for the report
PARAMETERS = ("model.n", "model.h", "model.m", "model.direct", "recipe.name", "seed")
COLUMNS = [*(f"metrics.`{name}`" for name in METRICS), *(f"params.`{name}`" for name in PARAMETERS)]
VIEW = {"selectedColumns": COLUMNS, "orderByKey": "metrics.`valid_corrected`", "orderByAsc": True}


def arguments(parser: Parser) -> None:
    parser.add_argument("--port", type=whole_number(1), default=5000, metavar="N", help="default %(default)s")


def run(options: argparse.Namespace) -> None:
    """Runs MLflow's server until Ctrl-C."""
    store = os.environ["MLFLOW_TRACKING_URI"]
    if store.startswith("http"):
        raise InputError("MLFLOW_TRACKING_URI names a server: open its address in a browser")
    _check_free(options.port)
    Backlog((ROOT / "timings").glob("*")).log()  # of stages that DVC ran, not make
    if (file := tracking.sqlite_file()) and not file.exists():
        raise InputError(NO_RUNS)  # before the server creates the file
    environment = {
        "MLFLOW_BACKEND_STORE_URI": store,  # not on the command line: it may contain a password
        "MLFLOW_REGISTRY_STORE_URI": store,  # else the server prints that it uses this one
        "PYTHONWARNINGS": "ignore",  # the server's warnings of deprecated parts of its libraries
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # seven processes that are not needed here
    }
    command = [sys.executable, "-m", "mlflow", "server", "--host", HOST, "--port", str(options.port), "--workers", "1"]
    command += ["--uvicorn-opts", "--log-level warning"]  # one line per request would hide the address
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # In a new session: Ctrl-C reaches only this process, which then ends the server and all processes of the server.
    server = subprocess.Popen(command, env=os.environ | environment, start_new_session=True)
    try:
        for name, address in _addresses(options.port).items():  # while the server starts
            print(f"{name}: {address}", flush=True)
        print("The server takes some seconds to start. Ctrl-C stops it.", flush=True)
        server.wait()
    except KeyboardInterrupt:  # Ctrl-C or SIGTERM, the usual ways to end it
        pass
    finally:
        with suppress(ProcessLookupError):  # all processes have ended
            os.killpg(server.pid, signal.SIGKILL)  # the server writes only on request of its pages
        server.wait()


def _addresses(port: int) -> dict[str, str]:
    """The address of each corpus's experiment: the table of its trainings by validation perplexity."""
    try:
        client = tracking.open_store()
        experiments = [experiment for experiment in client.search_experiments() if experiment.name.startswith("nplm-")]
    except Exception as error:  # any store or driver has exceptions of its own
        raise InputError(f"the store of runs can't be opened: {tracking.line(error)}") from error
    for experiment in experiments:
        tracking.check_place(experiment.artifact_location)
    ids = {experiment.name: experiment.experiment_id for experiment in experiments}
    names = sorted(ids, key=lambda name: (name != MAIN, name))
    if not names:
        raise InputError(NO_RUNS)
    for name in names:
        client.set_experiment_tag(ids[name], f"mlflow.sharedViewState.{KEY}", json.dumps(VIEW))
    view = urlencode({"workflowType": "machine_learning", "viewStateShareKey": KEY})
    return {name: f"http://{HOST}:{port}/#/experiments/{ids[name]}/runs?{view}" for name in names}


def _check_free(port: int) -> None:
    """Raises InputError if another process uses the port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError) as error:
            raise InputError(f"--port {port}: {error}; give another, as nplm ui --port 5050") from error
