"""Servers that tests start."""

import socket
import time

import requests


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def wait_for(address: str) -> None:
    """Until a server answers, for ten minutes: beside two trainings it takes three to start."""
    end = time.monotonic() + 600
    while time.monotonic() < end:
        try:
            if requests.get(address, timeout=60).ok:
                return
        except requests.RequestException:
            pass
        time.sleep(0.5)
    raise AssertionError(f"{address} does not answer")
