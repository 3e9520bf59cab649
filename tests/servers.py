"""Servers that tests start."""

import secrets
import socket
import time

import requests


def free_port() -> int:
    """A port that nobody listens on. It is none of those that the system gives to connections (on Linux from 32768 on):
    one of them, such as srun's, would sometimes take it before the server does."""
    while True:
        port = 20000 + secrets.randbelow(12000)
        with socket.socket() as free:
            if free.connect_ex(("127.0.0.1", port)):  # nobody answers
                return port


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
