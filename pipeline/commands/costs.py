"""What the stages that ran here took: gathers timings/ into reports/costs.csv, which the page shows.

What has not run here keeps its line there.
"""

import argparse

from pipeline.config.base import ROOT
from pipeline.reporting.costs import gather

EXAMPLE = "nplm costs"


def run(given: argparse.Namespace) -> None:
    """Writes the file and says how many lines it has."""
    file = ROOT / "reports" / "costs.csv"
    costs = gather(ROOT / "timings", file)
    costs.to_csv(file, index=False)
    print(f"{len(costs)} items in {file}")
