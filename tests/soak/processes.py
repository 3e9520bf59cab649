"""Processes: at a random moment a stage is ended by SIGKILL, SIGTERM or SIGINT, and then repeated; or another begins in
the same folder. Well is the result of a run by itself to the bit, and no file left over; of two, one may be refused."""

import os
import random
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from forks import Fork
from tiny import words

from .few import differs, refused

STAGES = ["train", "preprocess", "ngram", "mix", "cluster", "report", "download"]
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


def trials(root: Path) -> Iterator:
    """Each stage killed by each signal, and twice at once: four times, the training twenty."""
    for stage in STAGES:
        for number in range(20 if stage == "train" else 4):
            for sent in (*SIGNALS, None):
                name = f"{stage}, {sent.name if sent else 'twice'} {number}"
                yield name, partial(_tried, root, stage, sent, random.Random(name).random())


def _begin(root: Path, stage: str, out: Path, *more: str) -> Fork:
    """A stage that writes checkpoints at every chance, with a store of its own folder's."""
    given = words(root, stage, out, *(["checkpoint_seconds=0"] if stage == "train" else []), *more)
    return Fork(stage, *given, environment=os.environ | {"MLFLOW_TRACKING_URI": f"sqlite:///{out.parent}/mlflow.db"})


def _tried(root: Path, stage: str, sent: signal.Signals | None, when: float, folder: Path) -> str:
    out, whole = folder / "out", folder / "whole"
    process = _begin(root, stage, whole).until(whole.is_dir)
    start = time.monotonic()  # without the time of imports
    if (undisturbed := process.end()).code:
        return f"undisturbed: {undisturbed.said[-200:]}"
    seconds = time.monotonic() - start
    process = _begin(root, stage, out).until(out.is_dir)
    time.sleep(when * seconds)
    if sent is None:
        other = _begin(root, stage, out, f"hydra.run.dir={folder}/run")  # two runs by hand have two folders
        badly = [refused(each, "out=", ".pt") for each in (process.end(), other.end()) if each.code]
        return f"neither ended well, or: {badly}" if len(badly) == 2 or any(badly) else differs(out, whole)
    ended = process.end(sent)
    again = _begin(root, stage, out).end()
    if again.code:
        return f"repeated: {again.said[-200:]}"
    if sent != signal.SIGKILL and "Traceback" in ended.said:
        return f"a traceback: {ended.said.splitlines()[-1][:150]}"
    files = [path.relative_to(folder).as_posix() for path in folder.rglob("*")]
    left = [path for path in files if "/." in f"/{path}" or path.endswith(".pt")]
    return f"left over: {left[:3]}" if left else differs(out, whole)
