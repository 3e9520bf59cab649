"""`nplm ui` shows the runs: its address leads to the experiment that has them."""

import json
import re
import socket
import subprocess
import sys
import threading
from urllib.request import Request, urlopen

from conftest import settings
from servers import free_port, wait_for

from pipeline import ngram
from pipeline.running.app import ROOT


def command(port: int) -> list[str]:
    return [sys.executable, "-m", "pipeline.commands", "ui", "--port", str(port)]


def test_the_address_that_it_prints_has_the_runs(stage, few, tmp_path, monkeypatch):
    """And the server says nothing of each request."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", stage.environment["MLFLOW_TRACKING_URI"])
    ngram.main(settings("ngram", f"data={few}", f"out={tmp_path}/out", f"timing={tmp_path}/t.json"))
    port = free_port()
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command(port), cwd=ROOT, env=stage.environment, **pipes)
    watchdog = threading.Timer(600, process.kill)
    watchdog.start()
    try:
        name, address, experiment = re.fullmatch(
            r"(\S+): (http://127.0.0.1:\d+)/#/experiments/(\d+)/runs\?workflowType=machine_learning&viewStateShareKey=nplm\n",
            process.stdout.readline(),
        ).groups()
        assert (name, address) == ("nplm-brown-20-texts", f"http://127.0.0.1:{port}")
        wait_for(f"{address}/health")
        asked = Request(f"{address}/api/2.0/mlflow/runs/search", headers={"Content-Type": "application/json"})
        asked.data = json.dumps({"experiment_ids": [experiment]}).encode()
        runs = json.load(urlopen(asked))["runs"]
        assert {run["info"]["run_name"] for run in runs} >= {"interpolated3-0"}
        tags = json.load(urlopen(f"{address}/api/2.0/mlflow/experiments/get?experiment_id={experiment}"))["experiment"][
            "tags"
        ]
        (view,) = (json.loads(tag["value"]) for tag in tags if tag["key"] == "mlflow.sharedViewState.nplm")
        assert {name.split("`")[1] for name in view["selectedColumns"] if "metrics" in name} <= {
            metric["key"] for run in runs for metric in run["data"].get("metrics", [])
        }
    finally:
        watchdog.cancel()
        process.terminate()
        printed, complained = process.communicate()
    assert "GET" not in printed + complained and "Warning" not in complained  # the address stays where it can be seen


def test_what_it_cannot_show_is_one_line(stage, tmp_path):
    def refused(port: int, **environment: str) -> str:
        where = {"cwd": ROOT, "env": stage.environment | environment}
        ended = subprocess.run(command(port), **where, capture_output=True, text=True)
        assert ended.returncode == 2 and ended.stdout == ""
        (line,) = ended.stderr.splitlines()
        return line

    assert refused(free_port()).startswith("error: no runs yet: `make repro` makes them")
    assert "names a server" in refused(free_port(), MLFLOW_TRACKING_URI="http://127.0.0.1:9")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert "Address already in use" in refused(taken.getsockname()[1])
    assert "must be 0-65535" in refused(70000)
