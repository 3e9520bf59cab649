"""Two at once: the same stage into one folder, two into a new store of MLflow, two grids, two make targets. Well is
that each ends with the result that it has alone, or that one is refused in one line."""

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from pipeline.config.base import ROOT

from .few import Few
from .trial import Ended, Trial, differs, refused

STAGES = ["preprocess", "cluster", "ngram", "train", "mix", "report"]
OWN = ("out=", "timing=", "checkpoints=", "hydra")  # what each job of a grid has of its own
TIMES = 3  # each pair, with the second begun at another moment


def trials(few: Few) -> Iterator[Trial]:
    """Each stage twice into one folder and into two; two grids of two jobs; two make targets."""
    for number in range(TIMES):
        for stage in STAGES:
            for where in ("one folder", "two folders"):
                yield Trial(f"{stage} twice, {where} {number}", partial(_tried, few, stage, where, number))
        yield Trial(f"two grids {number}", partial(_grids, few, number))
        yield Trial(f"two make targets {number}", partial(_made, number))


def _tried(few: Few, stage: str, where: str, number: int, folder: Path) -> str:
    def command(out: Path, run: str) -> list[str]:
        words = [word for word in few.words(stage, out) if not word.startswith(("hydra.run.dir", "checkpoints"))]
        places = [f"hydra.run.dir={folder}/run-{run}", "hydra.output_subdir=null"]  # two runs by hand have two
        places += [f"checkpoints={folder}/checkpoints"] if stage == "train" else []
        return [sys.executable, "-m", f"pipeline.{stage}", *words, *places]

    start = time.monotonic()
    (whole,) = _together([command(folder / "whole", "0")], folder, 0)
    if whole.code:
        return f"by itself: {whole.said[-200:]}"
    outs = [folder / "a", folder / ("a" if where == "one folder" else "b")]
    late = random.Random(f"{stage} {number}").uniform(0, time.monotonic() - start)
    ended = _together([command(outs[0], "1"), command(outs[1], "2")], folder, late)
    badly = [refused(each, "out=", "checkpoints", ".pt") for each in ended if each.code]
    if len(badly) == 2 or any(badly):
        return f"neither ended well, or: {badly}"
    if badly and where == "two folders" and stage != "train":  # the very same training has one checkpoint
        return "one was refused"
    return "".join(differs(out, folder / "whole") for out, each in zip(outs, ended, strict=True) if each.code == 0)


def _grids(few: Few, number: int, folder: Path) -> str:
    def grid(name: str) -> list[str]:
        words = [word for word in few.words("train", folder) if not word.startswith(OWN)]
        places = [f"hydra.sweep.dir={folder}/{name}", f"checkpoints={folder}/checkpoints-{name}"]
        grid = ["recipe.rate=1e-2,2e-2", "hydra/launcher=joblib"]
        return [sys.executable, "-m", "pipeline.train", "-m", *words, *places, *grid]

    said = _failed(_together([grid("a"), grid("b")], folder, 0.5 * number))
    return said or "".join(differs(folder / "a" / job, folder / "b" / job) for job in ("0", "1"))


def _made(number: int, folder: Path) -> str:
    """Two targets in one checkout take turns, and leave what is committed."""
    subprocess.run(["git", "clone", "--quiet", "--depth=1", f"file://{ROOT}", folder / "checkout"], check=True)
    (folder / "checkout" / ".venv").symlink_to(sys.prefix)
    target = ["make", "-C", str(folder / "checkout"), "--old-file=.venv/installed", "page"]
    said = _failed(_together([target, target], folder, 0.5 * number))
    status = ["git", "-C", folder / "checkout", "status", "--porcelain"]
    return said or subprocess.run(status, capture_output=True, text=True, check=True).stdout


def _failed(ended: list[Ended]) -> str:
    return "".join(f"exit code {each.code}: {each.said.strip()[-200:]}" for each in ended if each.code)


def _together(commands: list[list[str]], folder: Path, late: float) -> list[Ended]:
    """Begins each so many seconds after the one before, with one new store, and waits for all."""
    environment = os.environ | {"MLFLOW_TRACKING_URI": f"sqlite:///{folder}/mlflow.db"}
    begun = []
    for command in commands:
        time.sleep(late if begun else 0)
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        begun.append(subprocess.Popen(command, env=environment, **pipes))
    said = [process.communicate() for process in begun]
    return [Ended(each.returncode, "".join(both), both[1]) for each, both in zip(begun, said, strict=True)]
