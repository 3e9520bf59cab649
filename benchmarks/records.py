"""Records: the machine-seconds of our training to a perplexity, race by race.

The perplexity, of validation and corrected for unseen words, is what the best form of stock PyTorch of the same model
ended at in the races of 2026-11-24 and 25. A line for each race, with the fastest of the others in that race. Machines
differ, so seconds are compared within a line; they are of whole trainings, or by paces, which were measured in turn.
"""

from pathlib import Path

import pandas as pd

GOALS = {"mlp1": 245.3, "mlp9": 243.7}
NEVER = "not reached"
KEPT = Path("reports/benchmark")


def record(runs: pd.DataFrame, goal: float) -> dict:
    """Of a race (as race.table has it): seconds of ours to the goal, and who of the others came there first."""
    there = runs[runs["valid_corrected"].round(1) <= goal]
    seconds = there.groupby("who")["s of the machine"].min().round(1).sort_values()
    others = seconds.drop("ours", errors="ignore")
    return {
        "valid_corrected": goal,
        "ours, s of the machine": seconds.get("ours", NEVER),
        "fastest other": others.index[0] if len(others) else NEVER,
        "its s": others.iloc[0] if len(others) else NEVER,
        "seconds": "by paces" if "as trained" in runs else "as trained",
    }


def run() -> pd.DataFrame:
    """The lines that are there, and one for each race that has none yet."""
    file = KEPT / "records.csv"
    before = [pd.read_csv(file)] if file.is_file() else []
    lines = []
    for model, goal in GOALS.items():
        when, where = (KEPT / f"race_{model}.txt").read_text(encoding="utf-8").splitlines()[0].split(", ", 1)
        runs = pd.read_csv(KEPT / f"race_{model}.csv")
        lines.append({"model": model, "date": when, "where": where.partition("; Python")[0], **record(runs, goal)})
    found = pd.concat([*before, pd.DataFrame(lines)]).drop_duplicates(["model", "date", "where"], keep="last")
    return found.sort_values(["model", "date"]).set_index("model")
