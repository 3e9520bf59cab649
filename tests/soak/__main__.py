"""python -m tests.soak [CLASS ...]: tries faults in a random order, counts what came of them: reports/soak.md."""

import argparse
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
from tqdm import tqdm

from pipeline.running import tracking

from . import few, files, kills, pairs, room, serving, values

MODULES = (values, files, kills, room, pairs, serving)
CLASSES = {module.__name__.rpartition(".")[2]: module for module in MODULES}
REPORT = Path("reports/soak.md")


def main() -> int:
    """Exit code 1 where a trial went badly."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("classes", nargs="*", choices=[*CLASSES, []], metavar="CLASS", help=f"{', '.join(CLASSES)}")
    parser.add_argument("--seconds", type=float, default=1800, help="time for all; default %(default)g")
    parser.add_argument("--seed", type=int, default=0, help="of the order; default %(default)s")
    parser.add_argument("--no-report", action="store_true", help="leaves reports/soak.md as it is")
    given = parser.parse_args()
    made = few.make(Path("outputs/soak").resolve())
    chosen = [(name, trial) for name in given.classes or CLASSES for trial in CLASSES[name].trials(made)]
    random.Random(given.seed).shuffle(chosen)
    end, tried = time.monotonic() + given.seconds, []
    for name, trial in tqdm(chosen, disable=None):
        if time.monotonic() > end:
            break
        folder = Path(tempfile.mkdtemp(prefix="soak-"))
        try:
            badly = trial.run(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        tried.append((name, trial.name, " ".join(badly.split())))
        if badly:
            print(f"{name}: {trial.name}: {badly}", file=sys.stderr)
    table = pd.DataFrame(tried, columns=["class", "trial", "badly"])
    text = report(table, pd.Series([name for name, _ in chosen]).value_counts())
    print(text)
    if not given.no_report:
        REPORT.write_text(text, encoding="utf-8")
    return int((table["badly"] != "").any())


def report(table: pd.DataFrame, there_are: pd.Series) -> str:
    """How many of each class were tried, and which went badly; what each class is."""
    code = tracking.code_state("pipeline", "conf", "tests/soak")
    counted = table.groupby("class").agg(tried=("trial", "size"), badly=("badly", lambda said: (said != "").sum()))
    counted.insert(0, "there are", there_are)
    text = [
        "# Faults, counted",
        f"Written by `make soak`; commit {code['commit']}{'+' * (code['dirty'] == 'true')}. A trial makes one fault.",
        counted.to_markdown(),
        "\n".join(f"- *{name}*. {' '.join(CLASSES[name].__doc__.split())}" for name in counted.index),
    ]
    badly = table[table["badly"] != ""]
    lines = [f"- {line['class']}: `{line['trial']}`: {line['badly']}" for _, line in badly.head(20).iterrows()]
    return "\n\n".join([*text, "\n".join([f"{len(badly)} went badly:", *lines])] if lines else text) + "\n"


if __name__ == "__main__":
    sys.exit(main())
