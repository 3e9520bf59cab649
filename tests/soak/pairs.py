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
from .kills import checkout, published
from .trial import Ended, Trial, differs, refused

STAGES = ["preprocess", "cluster", "ngram", "train", "mix", "report"]
OWN = ("out=", "timing=", "checkpoints=", "hydra")  # what each job of a grid has of its own
TIMES = 8  # each pair, with the second begun at another moment


def trials(few: Few) -> Iterator[Trial]:
    """Each stage twice into one folder and into two; two grids of two jobs; two make targets; two publishes,
    and one beside a stage."""
    for number in range(TIMES):
        for stage in STAGES:
            for where in ("one folder", "two folders"):
                yield Trial(f"{stage} twice, {where} {number}", partial(_tried, few, stage, where, number))
        yield Trial(f"two grids {number}", partial(_grids, few, number))
        yield Trial(f"two publishes {number}", partial(_published, few, ["publish", "publish"], number))
        yield Trial(f"two make targets {number}", partial(_made, number))
        yield Trial(f"a publish beside a stage {number}", partial(_published, few, ["publish", "ngram"], number))


def _tried(few: Few, stage: str, where: str, number: int, folder: Path) -> str:
    start = time.monotonic()
    (whole,) = _together([_command(few, stage, folder / "whole", "0")], folder, [0.0])
    usual = time.monotonic() - start
    if whole.code:
        return f"by itself: {whole.said[-200:]}"
    outs = [folder / "a", folder / ("a" if where == "one folder" else "b")]
    late = random.Random(f"{stage} {number}").uniform(0, usual)
    ended = _together(
        [_command(few, stage, out, run) for out, run in zip(outs, "12", strict=True)], folder, [0.0, late]
    )
    well = [each for each in ended if each.code == 0]
    said = [refused(each, "out=", "checkpoints", ".pt") for each in ended if each.code]
    if not well:
        return "neither ended well"
    if any(said):
        return next(filter(None, said))
    if len(well) < 2 and where == "two folders" and stage != "train":  # the very same training has one checkpoint
        return "one was refused"
    return "".join(differs(out, folder / "whole") for out, each in zip(outs, ended, strict=True) if each.code == 0)


def _grids(few: Few, number: int, folder: Path) -> str:
    def grid(name: str, rates: str) -> list[str]:
        words = [word for word in few.words("train", folder) if not word.startswith(OWN)]
        given = [
            f"hydra.sweep.dir={folder}/{name}",
            f"checkpoints={folder}/checkpoints-{name}",
            f"recipe.rate={rates}",
            "hydra/launcher=joblib",
        ]
        return [sys.executable, "-m", "pipeline.train", "-m", *words, *given]

    ended = _together([grid("a", "1e-2,2e-2"), grid("b", "1e-2,2e-2")], folder, [0.0, 0.3 * number])
    for each in ended:
        if each.code:
            return f"exit code {each.code}: {each.said.strip()[-200:]}"
    return "".join(differs(folder / "a" / job, folder / "b" / job) for job in ("0", "1"))


def _made(number: int, folder: Path) -> str:
    """Two targets in one checkout take turns, and leave what is committed."""
    subprocess.run(["git", "clone", "--quiet", "--depth=1", f"file://{ROOT}", folder / "checkout"], check=True)
    (folder / "checkout" / ".venv").symlink_to(sys.prefix)
    target = ["make", "-C", str(folder / "checkout"), "--old-file=.venv/installed"]
    for each in _together([[*target, "page"]] * 2, folder, [0.0, 0.3 * number]):
        if each.code:
            return f"exit code {each.code}: {each.said.strip()[-200:]}"
    status = ["git", "-C", folder / "checkout", "status", "--porcelain"]
    return subprocess.run(status, capture_output=True, text=True, check=True).stdout


def _published(few: Few, what: list[str], number: int, folder: Path) -> str:
    checkout(few, folder / "root")
    publish = [sys.executable, "-m", "pipeline.commands", "publish", "--root", str(folder / "root"), "--models"]
    commands = [publish if each == "publish" else _command(few, each, folder / "out", "1") for each in what]
    for each in _together(commands, folder, [0.0, 0.4 * number]):
        if each.code:
            return f"exit code {each.code}: {each.said.strip()[-200:]}"
    return published(folder) if "ngram" not in what else ""  # the stage's own run is of the same model


def _command(few: Few, stage: str, out: Path, run: str) -> list[str]:
    words = [word for word in few.words(stage, out) if not word.startswith(("hydra.run.dir", "checkpoints"))]
    places = [f"hydra.run.dir={out.parent}/run-{run}", "hydra.output_subdir=null"]  # two runs by hand have two
    checkpoints = [f"checkpoints={out.parent}/checkpoints"] if stage == "train" else []
    return [sys.executable, "-m", f"pipeline.{stage}", *words, *checkpoints, *places]


def _together(commands: list[list[str]], folder: Path, late: list[float]) -> list[Ended]:
    """Begins each so many seconds late, with one new store, and waits for all."""
    environment = os.environ | {"MLFLOW_TRACKING_URI": f"sqlite:///{folder}/mlflow.db"}
    begun = []
    for command, seconds in zip(commands, late, strict=True):
        time.sleep(seconds)
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        begun.append(subprocess.Popen(command, env=environment, **pipes))
    ended = []
    for process in begun:
        out, errors = process.communicate()
        ended.append(Ended(process.returncode, out + errors, errors))
    return ended
