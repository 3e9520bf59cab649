"""python -m tests.soak [CLASS ...]: tries faults in a random order, and counts what came of them.

A class is a module here. Its `trials` gives, for each fault, a name and a function that meets it in an empty folder and
says what went badly, "" for nothing.
"""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
from tqdm import tqdm

sys.path.append(str(Path(__file__).parents[1]))  # as for the tests

from . import few, files, processes, room, serving, values

CLASSES = {"values": values, "files": files, "processes": processes, "room": room, "serving": serving}


def main() -> int:
    """Exit code 1 where a trial went badly."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__.splitlines()[0])
    parser.add_argument("classes", nargs="*", choices=[*CLASSES, []], metavar="CLASS", help=f"{', '.join(CLASSES)}")
    parser.add_argument("--seconds", type=float, default=1800, help="time for all; default %(default)g")
    given = parser.parse_args()
    few.make(root := Path("outputs/soak").resolve())
    chosen = [(name, *trial) for name in given.classes or CLASSES for trial in CLASSES[name].trials(root)]
    random.Random(0).shuffle(chosen)
    end, tried = time.monotonic() + given.seconds, []
    for name, trial, run in tqdm(chosen, disable=None):
        if time.monotonic() > end:
            break
        with tempfile.TemporaryDirectory(prefix="soak-", ignore_cleanup_errors=True) as folder:
            badly = " ".join(run(Path(folder)).split())
        tried.append((name, trial, badly))
        if badly:
            print(f"{name}: {trial}: {badly}", file=sys.stderr)
    table = pd.DataFrame(tried, columns=["class", "trial", "badly"])
    table["badly"] = table["badly"] != ""
    print(table.groupby("class")["badly"].agg(tried="size", badly="sum"))
    return int(table["badly"].any())


if __name__ == "__main__":
    sys.exit(main())
