"""Are the perplexities of this run those of the committed table?

Another processor gives other bits. So figures agree if they differ by at most 0.5 %, or by at most two standard
deviations over seeds, whichever is more. The committed table is reports/table1.csv of the last commit. Exit code 1 if a
figure is off.
"""

import argparse
import io
import subprocess
from pathlib import Path

import pandas as pd

from pipeline.commands import report_error
from pipeline.config.base import ROOT
from pipeline.config.tables import read_tables
from pipeline.core.common.errors import InputError
from pipeline.data.corpus import read_corpus
from pipeline.reporting import table

EXAMPLE = "nplm verify"
TOLERANCE = 0.005
TABLE = "reports/table1.csv"


def run(options: argparse.Namespace) -> int:
    """Prints both tables side by side. Returns exit code 1 if a figure is off."""
    process = subprocess.run(["git", "-C", str(ROOT), "show", f"HEAD:{TABLE}"], capture_output=True, text=True)
    if process.returncode:
        raise InputError(f"no committed {TABLE} to compare with: {process.stderr.strip()}")
    result = compare(table_of_run(ROOT), table.read(io.StringIO(process.stdout)))
    print(result.to_string(index=False, na_rep="", float_format="%.4f"))
    if differences := int((~result["holds"]).sum()):
        return report_error(f"{differences} of {len(result)} figures are off by more than their bound", 1)
    print(f"all {len(result)} figures agree with the committed table")
    return 0


def table_of_run(root: Path) -> pd.DataFrame:
    """The rows that the paper prints, computed from a run's arrays below `root`, not from a report.

    Raises InputError if the arrays of a model are missing.
    """
    table1 = read_tables(ROOT / "conf" / "table")["table1"]
    table1.predictions = [str(root / folder) for folder in table1.predictions]
    rows = table.build(table1, read_corpus(root / "data" / "brown"))
    return rows[[table1.printed(name) for name in rows.index]]


def compare(rows: pd.DataFrame, committed: pd.DataFrame) -> pd.DataFrame:
    """One line for each row and split: both perplexities, their difference, the bound, and whether the row holds.

    Both tables are indexed by the model's name. A row that is in only one of them does not hold.
    """
    merged = rows.merge(committed, how="outer", left_index=True, right_index=True, suffixes=("", "_committed"))
    lines = []
    for split in ("valid", "test"):
        value = merged[f"{split}_raw"]
        reference = merged[f"{split}_raw_committed"]
        spread = merged[[f"{split}_raw_sd", f"{split}_raw_sd_committed"]].max(axis=1).fillna(0)
        bound = (2 * spread / reference).clip(lower=TOLERANCE)
        difference = value / reference - 1
        columns = {"split": split, "ours": value, "committed": reference, "difference": difference, "bound": bound}
        lines.append(pd.DataFrame(columns).assign(holds=difference.abs() <= bound))
    return pd.concat(lines).rename_axis("name").reset_index()
