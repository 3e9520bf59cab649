"""What each stage took where it ran last: seconds, words a second, peak memory.

Times differ from run to run, so no stage writes them into a result: they lie in timings/<table>/, which neither git nor
DVC keeps. `make costs` gathers them into reports/costs.csv, which is committed and which the page shows.
"""

from pathlib import Path

import pandas as pd

from pipeline.data.files import read_json

KEYS = ["table", "stage", "item"]
MEASURES = ["seconds", "words_per_second", "peak_memory_mb"]


def gather(timings: Path, known: Path) -> pd.DataFrame:
    """A line for each item of a stage: what `timings` holds, and for all else the line of the file `known`."""
    lines = [{"table": file.parent.name, "item": file.stem} | read_json(file) for file in timings.glob("*/*.json")]
    here = pd.DataFrame(lines, columns=[*KEYS, *MEASURES]).set_index(KEYS).round(1)
    return here.combine_first(read(known).set_index(KEYS)).sort_index().reset_index()


def read(file: Path) -> pd.DataFrame:
    """What `gather` gave, as it was written; no line where there is no file."""
    if not file.is_file():
        return pd.DataFrame(columns=[*KEYS, *MEASURES])
    return pd.read_csv(file, dtype=dict.fromkeys(KEYS, str) | dict.fromkeys(MEASURES, float))


def by_stage(costs: pd.DataFrame) -> pd.DataFrame:
    """By table and stage: items, seconds together, the longest item, its seconds, and peak memory; longest first."""
    ordered = costs.sort_values("seconds", ascending=False, kind="stable")
    total = ordered.groupby(["table", "stage"], sort=False).agg(
        items=("item", "size"),
        seconds=("seconds", "sum"),
        longest=("item", "first"),
        longest_seconds=("seconds", "first"),
        peak_memory_mb=("peak_memory_mb", "max"),
    )
    return total.sort_values("seconds", ascending=False, kind="stable").reset_index()


def minutes(costs: pd.DataFrame, table: str) -> pd.Series:
    """Core-minutes by model, the mean over seeds: of training a table's network, or of adapting one, scoring included.
    Of those on one thread: seconds are the process's."""
    spent = costs[(costs["table"] == table) & costs["stage"].isin(["train", "adapt"])]
    model = spent["item"].str.extract(r"^[a-z_]+-(.+)-\d+$", expand=False)
    return spent.groupby(model)["seconds"].mean() / 60
