"""Time and memory of the stages that ran here: gathers timings/ into reports/costs.csv, which the page shows.

A stage that has not run here keeps its line in that file.
"""

import argparse

from pipeline.config.base import ROOT
from pipeline.reporting.costs import gather

EXAMPLE = "nplm costs"


def run(options: argparse.Namespace) -> None:
    """Writes the file and prints its number of lines."""
    file = ROOT / "reports" / "costs.csv"
    costs = gather(ROOT / "timings", file)
    costs.to_csv(file, index=False)
    print(f"{len(costs)} items in {file}")
