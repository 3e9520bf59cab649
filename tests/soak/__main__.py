"""python -m tests.soak [CLASS ...]: tries faults in a random order, counts what came of them: reports/soak.md.

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

from pipeline.running import tracking

sys.path.append(str(Path(__file__).parents[1]))  # as for the tests

from . import few, files, processes, room, serving, values

CLASSES = {"values": values, "files": files, "processes": processes, "room": room, "serving": serving}
REPORT = Path("reports/soak.md")


def main() -> int:
    """Exit code 1 where a trial went badly."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__.splitlines()[0])
    parser.add_argument("classes", nargs="*", choices=[*CLASSES, []], metavar="CLASS", help=f"{', '.join(CLASSES)}")
    parser.add_argument("--seconds", type=float, default=1800, help="time for all; default %(default)g")
    parser.add_argument("--no-report", action="store_true", help="leaves reports/soak.md as it is")
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
    text = report(table, pd.Series([name for name, *_ in chosen]).value_counts())
    print(text)
    if not given.no_report:
        REPORT.write_text(text, encoding="utf-8")
    return int((table["badly"] != "").any())


def report(table: pd.DataFrame, there_are: pd.Series) -> str:
    """How many of each class were tried, and which went badly; what each class is."""
    code = tracking.code_state("pipeline", "conf", "tests/soak")
    badly = table[table["badly"] != ""]
    counted = pd.DataFrame({"there are": there_are, "tried": table["class"].value_counts()})
    counted["badly"] = badly["class"].value_counts()
    text = [
        "# Faults, counted",
        f"Written by `make soak`; commit {code['commit']}{'+' * (code['dirty'] == 'true')}. A trial makes one fault.",
        counted.fillna(0).astype(int).rename_axis("class").to_markdown(),
        "\n".join(f"- *{name}*. {' '.join(CLASSES[name].__doc__.split())}" for name in counted.index),
        *(f"- {line['class']}: `{line['trial']}`: {line['badly']}" for line in badly.head(20).to_dict("records")),
    ]
    return "\n\n".join(text) + "\n"


if __name__ == "__main__":
    sys.exit(main())
