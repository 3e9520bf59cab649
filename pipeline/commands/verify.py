"""Are the perplexities of this run those of the committed table?

Other processors give other bits, so equal means within 0.5 % and two standard deviations over seeds, whichever is
wider. The committed table is reports/table1.csv of the last commit. Exit code 1 where a figure is off.
"""

import argparse
import io
import subprocess
from pathlib import Path

import pandas as pd

from pipeline.commands import failed
from pipeline.config.base import ROOT
from pipeline.config.tables import read_tables
from pipeline.core.common.errors import InputError
from pipeline.data.corpus import read_corpus
from pipeline.reporting import table

EXAMPLE = "nplm verify"
TOLERANCE = 0.005
TABLE = "reports/table1.csv"


def run(given: argparse.Namespace) -> int:
    """Prints both tables side by side; exit code 1 where a figure is off."""
    shown = subprocess.run(["git", "-C", str(ROOT), "show", f"HEAD:{TABLE}"], capture_output=True, text=True)
    if shown.returncode:
        raise InputError(f"no committed {TABLE} to compare with: {shown.stderr.strip()}")
    result = compare(ours(ROOT), table.read(io.StringIO(shown.stdout)))
    print(result.to_string(index=False, na_rep="", float_format="%.4f"))
    if off := int((~result["holds"]).sum()):
        return failed(f"{off} of {len(result)} figures are off by more than their bound", 1)
    print(f"all {len(result)} figures agree with the committed table")
    return 0


def ours(root: Path) -> pd.DataFrame:
    """The rows that the paper prints, from the arrays that a run has left below `root`, not from any report.

    Raises InputError where a model's are not there.
    """
    table1 = read_tables(ROOT / "conf" / "table")["table1"]
    table1.predictions = [str(root / folder) for folder in table1.predictions]
    built = table.build(table1, read_corpus(root / "data" / "brown"))
    return built[[table1.printed(name) for name in built.index]]


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
