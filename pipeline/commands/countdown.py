"""Tells how many stages of a make target are done, and about how long the others take. The Makefile calls it.

It reads what `dvc repro` prints, and prints it too, with a line where a stage begins or is skipped, and one at the end.
The estimate is from the times of an earlier run here, or else from those in reports/costs.csv; the time that stages
take now corrects it. At each of its lines, the runs of stages that have ended are logged in MLflow (backlog.py).
"""

import argparse
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pipeline.commands import Parser
from pipeline.config import check
from pipeline.config.base import ROOT
from pipeline.running.backlog import Backlog

EXAMPLE = "dvc repro 2>&1 | nplm countdown dvc.yaml"
LINE = re.compile(r"(Running stage|Stage) '([^']+)'")
COUNT = "["  # begins a line of this command


def arguments(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", help="a dvc.yaml, with the stages that count")
    parser.add_argument("--jobs", default=1, type=int, metavar="N", help="stages that run at a time; default 1")
    parser.add_argument(
        "--stages", default=r"\w+", metavar="REGEX", help="which count, such as 'train|mix'; default all"
    )


def run(options: argparse.Namespace) -> None:
    """Passes standard input on, with the lines of `counted` in it."""
    timings = files_of_times(options.file, options.stages)
    ended = Backlog({ROOT / timing.parent for timing in timings.values()})
    for line in counted(sys.stdin, seconds=expected(timings), jobs=options.jobs):
        print(line, end="", flush=True)
        if line.startswith(COUNT):
            ended.log()


def files_of_times(file: str, kinds: str) -> dict[str, Path]:
    """The file of times of each stage of a dvc.yaml, below ROOT. kinds: a pattern for the names of the stages before
    @."""
    from dvc.repo import Repo

    with Repo(ROOT) as repo:
        commands = {stage.addressing: stage.cmd for stage in repo.stage.load_all(str(ROOT / file))}
    pattern = re.compile(f"(^|:)({kinds})(@|$)")
    return {name: _file_of_times(command) for name, command in commands.items() if pattern.search(name)}


def _file_of_times(command: str) -> Path:
    words = dict(word.partition("=")[::2] for word in command.split())
    program = re.search(r"-m pipeline\.(\w+)", command)[1]
    return Path(words.get("timing") or check.timing_of(program, words["out"]))


def expected(timings: Mapping[str, Path]) -> dict[str, float]:
    """The seconds that each stage takes, as an earlier run has taken; 0 if that is not known. timings: the file of
    times of each stage, whose folder and name are table and item in reports/costs.csv."""
    from pipeline.reporting import costs

    table = costs.gather(ROOT / "timings", ROOT / "reports" / "costs.csv")
    seconds = dict(zip(table["table"] + "/" + table["item"], table["seconds"], strict=True))
    return {name: seconds.get(f"{timing.parent.name}/{timing.stem}", 0.0) for name, timing in timings.items()}


def counted(lines: Iterable[str], seconds: Mapping[str, float], jobs: int) -> Iterator[str]:
    """The lines of DVC, with the lines that count the stages.

    seconds: expected, of each stage that counts; jobs: stages that run at a time.
    """
    start = time.monotonic()
    skipped = set()
    begun: list[str] = []  # the last `jobs` of them still run, and count as half done
    for line in lines:
        yield line
        match = LINE.match(line)
        if not match or match[2] not in seconds or match[2] in skipped or match[2] in begun:
            continue
        if match[1] == "Stage":
            skipped.add(match[2])
        else:
            begun.append(match[2])
        waiting = seconds.keys() - skipped - set(begun)
        half = sum(seconds[name] for name in begun[-jobs:]) / 2
        done = sum(seconds[name] for name in begun) - half
        ahead = sum(seconds[name] for name in waiting) + half
        elapsed = time.monotonic() - start
        pace = elapsed / done if done and len(begun) > jobs else 1 / jobs  # seconds now for one of the earlier run
        number = len(seconds) - len(waiting)
        unknown = sum(not seconds[name] for name in waiting)
        addition = f", and {unknown} whose time is not known" if unknown else ""
        yield f"{COUNT}{number} of {len(seconds)} stages; about {_minutes(ahead * pace)} left{addition}]\n"
    yield f"{COUNT}{len(begun)} stages ran, {len(skipped)} were up to date; {_minutes(time.monotonic() - start)}]\n"


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
