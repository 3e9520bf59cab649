"""`nplm ui` shows the runs: its address leads to the experiment that has them."""

import json
import re
import socket
import subprocess
import sys
import threading

from conftest import run
from mlflow import MlflowClient
from servers import free_port, wait_for

from pipeline.commands.__main__ import main
from pipeline.running.app import ROOT

EXPERIMENT, ADDRESS = "nplm-brown-20-texts", "http://127.0.0.1"


def test_the_address_that_it_prints_has_the_runs(stage, few, tmp_path, monkeypatch):
    """And the server says nothing of each request."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", stage.environment["MLFLOW_TRACKING_URI"])
    run("ngram", f"data={few}", f"out={tmp_path}/out", f"timing={tmp_path}/t.json")
    port = free_port()
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = [sys.executable, "-m", "pipeline.commands", "ui", "--port", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, env=stage.environment, **pipes)
    watchdog = threading.Timer(600, process.kill)
    watchdog.start()
    try:
        view = r"/#/experiments/(\d+)/runs\?workflowType=machine_learning&viewStateShareKey=nplm\n"
        (experiment,) = re.fullmatch(f"{EXPERIMENT}: {ADDRESS}:{port}{view}", process.stdout.readline()).groups()
        wait_for(f"{ADDRESS}:{port}/health")
        client = MlflowClient(f"{ADDRESS}:{port}")
        runs = {run.info.run_name: run.data.metrics for run in client.search_runs([experiment])}
        shown = json.loads(client.get_experiment(experiment).tags["mlflow.sharedViewState.nplm"])["selectedColumns"]
        metrics = {name.split("`")[1] for name in shown if "metrics" in name}
        assert metrics and metrics - {"paper_valid"} <= runs["interpolated3-0"].keys()
    finally:
        watchdog.cancel()
        process.terminate()
        printed, complained = process.communicate()
    assert process.returncode == 0
    assert "GET" not in printed + complained and "Warning" not in complained  # the address stays where it can be seen


def test_what_it_cannot_show_is_one_line(monkeypatch, tmp_path, capsys):
    def refused(port: int) -> str:
        assert main(["ui", "--port", str(port)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        return line

    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    assert refused(free_port()).startswith("error: no runs yet: `make repro` makes them")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert "Address already in use" in refused(taken.getsockname()[1])
    assert "must be 0-65535" in refused(70000)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    assert "names a server" in refused(free_port())
