"""What the stages that ran here took: gathers timings/ into reports/costs.csv, which the page shows.

What has not run here keeps its line there.
"""

import argparse

from pipeline.commands import Parser
from pipeline.config.base import ROOT

EXAMPLE = "nplm costs"


def arguments(parser: Parser) -> None:
    """None: it gathers what lies in the checkout of this code."""


def run(given: argparse.Namespace) -> None:
    """Writes the file and says how many lines it has."""
    from pipeline.reporting.costs import gather

    file = ROOT / "reports" / "costs.csv"
    costs = gather(ROOT / "timings", file)
    costs.to_csv(file, index=False)
    print(f"{len(costs)} items in {file}")
