"""What the stages that ran here took, gathered from timings/ into reports/costs.csv.

What ran elsewhere keeps its line. The page shows the file: `make costs` renews both.
"""

import argparse

from pipeline.commands.command import Parser
from pipeline.running.keys import ROOT

EXAMPLE = "nplm costs"


def arguments(parser: Parser) -> None:
    """None: it gathers what lies in the checkout of this code."""


def run(given: argparse.Namespace) -> None:
    """Writes the file, and prints how many items it has."""
    from pipeline.reporting.costs import gather

    file = ROOT / "reports" / "costs.csv"
    found = gather(ROOT / "timings", file)
    found.to_csv(file, index=False)
    print(f"{len(found)} items in {file}")
