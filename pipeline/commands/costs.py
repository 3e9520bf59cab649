"""What the stages that ran here took: gathers timings/ into reports/costs.csv, which the page shows.

What has not run here keeps its line there.
"""

import argparse

from pipeline.commands.command import Parser
from pipeline.config.base import ROOT

EXAMPLE = "nplm costs"


def arguments(parser: Parser) -> None:
    """None: it gathers what lies in the checkout of this code."""


def run(given: argparse.Namespace) -> None:
    """Writes the file and says how many lines it has."""
    from pipeline.reporting.costs import gather

    file = ROOT / "reports" / "costs.csv"
    found = gather(ROOT / "timings", file)
    found.to_csv(file, index=False)
    print(f"{len(found)} items in {file}")
