"""What each stage took in its last run: seconds, words per second, peak memory.

Times differ from run to run, so they are no part of a result. Stages write them into timings/<table>/, which neither
git nor DVC keeps. `make costs` gathers them into reports/costs.csv, which is committed and which the page shows.
"""

from pathlib import Path

import pandas as pd

from pipeline.data.files import read_json

KEYS = ["table", "stage", "item"]
MEASURES = ["seconds", "words_per_second", "peak_memory_mb"]


def gather(timings: Path, committed: Path) -> pd.DataFrame:
    """One line per item of a stage: from the folder `timings`, or else from the CSV file `committed`."""
    lines = [{"table": file.parent.name, "item": file.stem} | read_json(file) for file in timings.glob("*/*.json")]
    latest = pd.DataFrame(lines, columns=[*KEYS, *MEASURES]).set_index(KEYS).round(1)
    return latest.combine_first(read(committed).set_index(KEYS)).sort_index().reset_index()


def read(file: Path) -> pd.DataFrame:
    """The table that `gather` made, from its CSV file; without the file, no lines."""
    if not file.is_file():
        return pd.DataFrame(columns=[*KEYS, *MEASURES])
    return pd.read_csv(file, dtype=dict.fromkeys(KEYS, str) | dict.fromkeys(MEASURES, float))


def by_stage(costs: pd.DataFrame) -> pd.DataFrame:
    """By table and stage: number of items, total seconds, the longest item, its seconds, peak memory. Longest first."""
    ordered = costs.sort_values("seconds", ascending=False, kind="stable")
    total = ordered.groupby(["table", "stage"], sort=False).agg(
        items=("item", "size"),
        seconds=("seconds", "sum"),
        longest=("item", "first"),
        longest_seconds=("seconds", "first"),
        peak_memory_mb=("peak_memory_mb", "max"),
    )
    return total.sort_values("seconds", ascending=False, kind="stable").reset_index()


def minutes(costs: pd.DataFrame, table: str, continues: str = "") -> pd.Series:
    """CPU minutes by model: of training a network of the table, or of adapting it; scoring is included, and so is the
    training in the table `continues` that was continued.

    Seconds are wall-clock time of a process with one thread. Other work makes it slower, so the quickest seed counts.
    """
    runs = costs[costs["table"].isin([table, continues]) & costs["stage"].isin(["train", "adapt"])]
    model = runs["item"].str.extract(r"^[a-z_]+-(.+)-\d+$", expand=False)
    by_seed = runs.groupby([model, runs["item"]])["seconds"].sum()
    return by_seed.groupby(level=0).min() / 60
