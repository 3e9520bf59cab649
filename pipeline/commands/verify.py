"""`make verify`: are the perplexities of this run those of the committed table? Other processors give other bits,
so equal means within 0.5 % and two standard deviations over seeds, whichever is wider."""

import argparse
import io
import subprocess
import sys
from pathlib import Path

import pandas as pd
from omegaconf import OmegaConf

from pipeline.data.corpus import read_corpus
from pipeline.data.errors import InputError
from pipeline.reporting import table
from pipeline.running.app import ROOT, exit_code

TOLERANCE = 0.005
TABLE = "reports/table1.csv"


def ours(root: Path) -> pd.DataFrame:
    """Table 1 from the arrays that a run has left below `root`, not from any report.

    Raises InputError where a row's are not there.
    """
    rows = [table.Row(**row) for row in OmegaConf.to_container(OmegaConf.load(ROOT / "conf/table/table1.yaml"))["rows"]]
    seeds = list(OmegaConf.load(ROOT / "conf" / "seeds.yaml").seeds)
    built = table.build(rows, root / "predictions", read_corpus(root / "data" / "brown"), seeds)
    missing = [row.name for row in rows if row.name not in built.index]
    if missing:
        raise InputError(f"no predictions of {', '.join(missing)}: run `make repro` first")
    return built


def compare(ours: pd.DataFrame, committed: pd.DataFrame) -> pd.DataFrame:
    """One line for each row and split: both perplexities, their difference, the bound, and whether it holds.

    Both tables are indexed by the model's name; a row that only one of them has does not hold.
    """
    both = ours.merge(committed, how="outer", left_index=True, right_index=True, suffixes=("", "_committed"))
    lines = []
    for split in ("valid", "test"):
        value, reference = both[split], both[f"{split}_committed"]
        spread = both[[f"{split}_sd", f"{split}_sd_committed"]].max(axis=1).fillna(0)
        bound = (2 * spread / reference).clip(lower=TOLERANCE)
        difference = value / reference - 1
        columns = {"split": split, "ours": value, "committed": reference, "difference": difference, "bound": bound}
        lines.append(pd.DataFrame(columns).assign(holds=difference.abs() <= bound))
    return pd.concat(lines).rename_axis("name").reset_index()


def main() -> None:
    """Compares what this run has left with the table of the last commit; exit code 1 where a figure is off."""
    argparse.ArgumentParser(prog="python -m pipeline.commands.verify", description=__doc__).parse_args()
    shown = subprocess.run(["git", "-C", str(ROOT), "show", f"HEAD:{TABLE}"], capture_output=True, text=True)
    if shown.returncode:
        sys.exit(exit_code(f"no committed {TABLE} to compare with: {shown.stderr.strip()}"))
    try:
        result = compare(ours(ROOT), table.read(io.StringIO(shown.stdout)))
    except InputError as error:
        sys.exit(exit_code(str(error)))
    print(result.to_string(index=False, na_rep="", float_format="%.4f"))
    off = int((~result["holds"]).sum())
    if off:
        sys.exit(exit_code(f"{off} of {len(result)} figures are off by more than their bound", 1))
    print(f"all {len(result)} figures agree with the committed table")


if __name__ == "__main__":
    main()
