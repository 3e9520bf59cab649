"""`make verify`: are the perplexities of this run those of the committed table? Other processors give other bits,
so equal means within 0.5 % and two standard deviations over seeds, whichever is wider."""

import argparse
import io
import subprocess
import sys

import pandas as pd

from pipeline.app import ROOT

TOLERANCE = 0.005
KEY = ["row", "n", "c"]
TABLE = "reports/table1.csv"


def compare(ours: pd.DataFrame, committed: pd.DataFrame) -> pd.DataFrame:
    """One line for each row and split: both perplexities, their difference, the bound, and whether it holds.

    A row that only one of the tables has does not hold.
    """
    both = ours.merge(committed, on=KEY, how="outer", suffixes=("", "_committed"))
    lines = []
    for split in ("valid", "test"):
        value, reference = both[split], both[f"{split}_committed"]
        spread = both[[f"{split}_sd", f"{split}_sd_committed"]].max(axis=1).fillna(0)
        bound = (2 * spread / reference).clip(lower=TOLERANCE)
        difference = value / reference - 1
        columns = {"split": split, "ours": value, "committed": reference, "difference": difference, "bound": bound}
        lines.append(both[KEY].assign(**columns, holds=difference.abs() <= bound))
    return pd.concat(lines, ignore_index=True)


def main() -> None:
    """Compares reports/table1.csv with the one of the last commit; exit code 1 where a figure is off."""
    argparse.ArgumentParser(prog="python -m pipeline.verify", description=__doc__).parse_args()
    if not (ROOT / TABLE).is_file():
        sys.exit(f"error: no {TABLE}: run `make repro` first")
    shown = subprocess.run(["git", "-C", str(ROOT), "show", f"HEAD:{TABLE}"], capture_output=True, text=True)
    if shown.returncode:
        sys.exit(f"error: no committed {TABLE} to compare with: {shown.stderr.strip()}")
    result = compare(pd.read_csv(ROOT / TABLE), pd.read_csv(io.StringIO(shown.stdout)))
    print(result.astype({"c": "Int64"}).to_string(index=False, na_rep="", float_format="%.4f"))
    off = int((~result["holds"]).sum())
    if off:
        sys.exit(f"error: {off} of {len(result)} figures are off by more than their bound")
    print(f"all {len(result)} figures agree with the committed table")


if __name__ == "__main__":
    main()
