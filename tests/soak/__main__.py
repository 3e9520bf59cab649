"""python -m tests.soak [CLASS ...]: tries faults in a random order that the seed decides, and counts what came of them.

It goes on where it was stopped, as long as the code is the same, and writes reports/soak.md.
"""

import argparse
import csv
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
from tqdm import tqdm

from pipeline.running import tracking

from . import few, files, kills, pairs, room, serving, untracked, values

CLASSES = {
    "values": values,
    "files": files,
    "kills": kills,
    "room": room,
    "untracked": untracked,
    "pairs": pairs,
    "serving": serving,
}
REPORT = Path("reports/soak.md")
SHOWN = 20  # trials that went badly, in the report


def main() -> int:
    """Exit code 1 where a trial went badly."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("classes", nargs="*", choices=[*CLASSES, []], metavar="CLASS", help=f"{', '.join(CLASSES)}")
    parser.add_argument("--seconds", type=float, default=1800, help="time for all; default %(default)g")
    parser.add_argument("--trials", type=int, help="at most so many, the first of the order; default all")
    parser.add_argument("--seed", type=int, default=0, help="of the order; default %(default)s")
    parser.add_argument("--out", type=Path, default=Path("outputs/soak"), help="working folder; default %(default)s")
    parser.add_argument("--no-report", action="store_true", help="leaves reports/soak.md as it is")
    given = parser.parse_args()
    code = tracking.code_state("pipeline", "conf", "tests/soak")
    state = code["commit"] + "+" * (code["dirty"] == "true")
    made = few.make((given.out / "few").resolve(), state)
    log = given.out / f"{state}.csv"
    done = pd.read_csv(log, names=["class", "trial", "badly"], keep_default_na=False) if log.is_file() else None
    tried = set() if done is None else {*zip(done["class"], done["trial"], strict=True)}
    chosen = given.classes or list(CLASSES)
    all_trials = [(name, trial) for name in chosen for trial in CLASSES[name].trials(made)]
    random.Random(given.seed).shuffle(all_trials)
    all_trials = all_trials[: given.trials]
    end, badly = time.monotonic() + given.seconds, 0
    with log.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        for name, trial in tqdm([each for each in all_trials if (each[0], each[1].name) not in tried], disable=None):
            if time.monotonic() > end:
                break
            folder = Path(tempfile.mkdtemp(prefix="soak-"))
            try:
                said = trial.run(folder)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            writer.writerow([name, trial.name, " ".join(said.split())])
            file.flush()
            if said:
                badly += 1
                print(f"{name}: {trial.name}: {said}", file=sys.stderr)
    if not given.no_report:
        REPORT.write_text(report(log, state, made), encoding="utf-8")
        print(REPORT.read_text(encoding="utf-8"))
    return int(badly > 0)


def report(log: Path, state: str, made: few.Few) -> str:
    """How many of each class were tried, and which went badly; what each class is."""
    table = pd.read_csv(log, names=["class", "trial", "badly"], keep_default_na=False)
    badly = table[table["badly"] != ""]
    counted = table.groupby("class").agg(tried=("trial", "size"), badly=("badly", lambda said: (said != "").sum()))
    counted.insert(0, "there are", [sum(1 for _ in CLASSES[name].trials(made)) for name in counted.index])
    counted.insert(2, "well", counted["tried"] - counted["badly"])
    text = [
        "# Faults, counted",
        f"Written by `make soak`; commit {state}. A trial makes one fault.",
        counted.to_markdown(),
    ]
    text += ["\n".join(f"- *{name}*. {' '.join(CLASSES[name].__doc__.split())}" for name in counted.index)]
    if len(badly):
        shown = badly.head(SHOWN)
        text += ["What went badly" + f", {SHOWN} of {len(badly)}:" * (len(badly) > SHOWN)]
        text += ["\n".join(f"- {line['class']}: `{line['trial']}`: {line['badly']}" for _, line in shown.iterrows())]
    return "\n\n".join(text) + "\n"


if __name__ == "__main__":
    sys.exit(main())
