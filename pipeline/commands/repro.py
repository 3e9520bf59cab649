"""Makes the stages of a dvc.yaml as `dvc repro` does, several at a time, and says how many are done.

A stage begins, by `dvc repro --single-item`, when all that it needs has been made. With each, a line says how many are
done and about how long the others take: by the times of an earlier run here, or else those in reports/costs.csv,
corrected by the time that stages take now. The runs of stages that have ended are logged in MLflow meanwhile.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING

from pipeline.commands import Parser, report_error, whole_number
from pipeline.config import check
from pipeline.config.base import ROOT
from pipeline.core.common.errors import InputError
from pipeline.running.backlog import Backlog

if TYPE_CHECKING:
    from dvc.stage import Stage

EXAMPLE = "nplm repro experiments/published/dvc.yaml --stages 'train|train10' --jobs 2"
LINE = re.compile(r"(Running stage|Stage) '([^']+)'")
COUNT = "["  # begins a line of this command
# What DVC and Python take beside the work of a stage, in seconds. For a third of it DVC locks the checkout, so short
# stages side by side would wait for each other: they share a process of DVC, beside a long one where there is one.
OVERHEAD = 2.0
SHORT, TOGETHER = 5.0, 4


@dataclass
class State:
    """How the processes of DVC have ended so far."""

    done: set[str] = field(default_factory=set)  # stages that were made, or are up to date
    failed: list[str] = field(default_factory=list)  # stages of a process that failed


def arguments(parser: Parser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="a dvc.yaml")
    parser.add_argument("--jobs", default=1, type=whole_number(1), metavar="N", help="stages at a time; default 1")
    kinds = "only stages with such a name before @, such as 'train|mix', and what they need; default all"
    parser.add_argument("--stages", default=r"\w+", metavar="REGEX", help=kinds)
    prefix = 'begins each process of DVC, such as "srun --ntasks=1"'
    parser.add_argument("--prefix", default="", metavar="COMMAND", help=prefix)


def run(options: argparse.Namespace) -> int:
    """Makes the stages. Exit code 1 if one fails: those that are under way go on to their end then, no other begins."""
    stages = needed(options.files, options.stages)
    timings = {name: file_of_times(stage.cmd) for name, (stage, _) in stages.items()}
    waiting = Backlog({ROOT / timing.parent for timing in timings.values()})
    seconds = expected(timings)
    needs = {name: prerequisites for name, (_, prerequisites) in stages.items()}
    state = State()
    dvc = (str(Path(sys.executable).with_name("dvc")), "--wait-for-lock", "repro", "--single-item")
    command = (*shlex.split(options.prefix), *dvc)
    lines = made(needs, seconds=seconds, jobs=options.jobs, command=command, state=state)
    for line in counted(lines, seconds=seconds, jobs=options.jobs, state=state):
        print(line, end="", flush=True)
        if line.startswith(COUNT):
            waiting.log()
    if state.failed:
        return report_error(f"{', '.join(state.failed)}: not made, or not all of them; DVC says above why", 1)
    return 0


def needed(files: Iterable[str], kinds: str) -> dict[str, tuple["Stage", set[str]]]:
    """The stages of some dvc.yaml whose names before @ match the pattern `kinds`, and all that they need, from other
    files too: by name, with the names of those that each needs itself. Raises InputError if there are none."""
    from dvc.repo import Repo

    os.chdir(ROOT)  # names of stages are relative to the current folder
    for file in files:
        if not Path(file).is_file():
            raise InputError(f"{ROOT / file}: no such file")
    pattern = re.compile(f"(^|:)({kinds})(@|$)")
    with Repo() as repo:
        graph = repo.index.graph
        stages = {
            stage.addressing: (stage, {prerequisite.addressing for prerequisite in graph.successors(stage)})
            for stage in graph
        }
    places = {Path(file).resolve() for file in files}
    unvisited = [name for name, (stage, _) in stages.items() if Path(stage.path) in places and pattern.search(name)]
    if not unvisited:
        raise InputError(f"--stages {kinds}: no stage of {', '.join(files)} has such a name")
    chosen: set[str] = set()
    while unvisited:
        name = unvisited.pop()
        if name not in chosen:
            chosen.add(name)
            unvisited += stages[name][1]
    return {name: stages[name] for name in sorted(chosen)}


def file_of_times(command: str) -> Path:
    """The file of times of a stage, below ROOT, from its command."""
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


def made(
    needs: Mapping[str, set[str]], seconds: Mapping[str, float], jobs: int, command: Iterable[str], state: State
) -> Iterator[str]:
    """The lines that DVC prints, as it makes the stages, `jobs` processes at a time.

    needs: the stages, with those that each needs; command: to which the names of stages are added; state: is kept up
    to date.
    """
    weights = weight(needs, seconds)
    sorter = TopologicalSorter(needs)
    sorter.prepare()
    printed: SimpleQueue[tuple[list[str], str | int]] = SimpleQueue()
    ready: list[str] = []
    processes: list[list[str]] = []
    stopped = False
    while sorter.is_active():
        ready = sorted([*ready, *sorter.get_ready()], key=weights.get, reverse=True)
        while ready and len(processes) < jobs and not state.failed and not stopped:
            names = following(ready, processes, seconds=seconds, jobs=jobs)
            ready = [name for name in ready if name not in names]
            processes.append(names)
            Thread(target=_call, args=(command, names, printed)).start()
        if not processes:
            break
        try:
            names, message = printed.get()
        except KeyboardInterrupt:  # the processes get it too: trainings save their state and say so
            stopped = True
            continue
        if isinstance(message, str):
            yield message
            continue
        processes.remove(names)
        if message:  # the exit code
            state.failed += names
        else:
            state.done.update(names)
            sorter.done(*names)
    if stopped:
        raise KeyboardInterrupt


def weight(needs: Mapping[str, set[str]], seconds: Mapping[str, float]) -> dict[str, float]:
    """The expected seconds of each stage with all stages that need it: the heaviest should begin first."""
    dependents: dict[str, set[str]] = {name: {name} for name in needs}  # with the stage itself
    for name in reversed([*TopologicalSorter(needs).static_order()]):
        for prerequisite in needs[name]:
            dependents[prerequisite] |= dependents[name]
    return {name: sum(seconds[stage] + OVERHEAD for stage in stages) for name, stages in dependents.items()}


def following(ready: list[str], processes: list[list[str]], seconds: Mapping[str, float], jobs: int) -> list[str]:
    """The stages of the next process of DVC: of those that are ready, the heaviest first, a long one or several short
    ones. Short ones run one process at a time beside long ones, as long as these are many, and then last. A stage whose
    time is not known counts as long."""
    short = [name for name in ready if 0 < seconds[name] < SHORT]
    long = [name for name in ready if name not in short]
    alone = not any(0 < seconds[name] < SHORT for names in processes for name in names)
    if long and not (alone and len(short) >= TOGETHER and len(long) >= jobs):
        return long[:1]
    return short[:TOGETHER]


def _call(command: Iterable[str], names: list[str], printed: SimpleQueue) -> None:
    """Puts the lines of a process of DVC into a queue, and last its exit code."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace"}
    try:
        with subprocess.Popen([*command, *names], cwd=ROOT, **options) as process:
            for line in process.stdout:
                printed.put((names, line))
        printed.put((names, process.returncode))
    except OSError as error:  # no such command
        printed.put((names, f"{error}\n"))
        printed.put((names, 127))


def counted(lines: Iterable[str], seconds: Mapping[str, float], jobs: int, state: State) -> Iterator[str]:
    """The lines of DVC, with the lines that count the stages.

    seconds: expected, of each stage that counts; jobs: processes at a time; state: of the processes that print the
    lines.
    """
    start = time.monotonic()
    skipped = set()
    begun: list[str] = []
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
        half = sum(seconds[name] for name in begun if name not in state.done) / 2  # of those that run
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
