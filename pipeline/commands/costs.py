"""What the stages that ran here took, gathered from timings/ into reports/costs.csv."""

from pipeline.reporting.costs import gather
from pipeline.running.app import ROOT


def main() -> None:
    """python -m pipeline.commands.costs"""
    file = ROOT / "reports" / "costs.csv"
    found = gather(ROOT / "timings", file)
    found.to_csv(file, index=False)
    print(f"{len(found)} items in {file}")


if __name__ == "__main__":
    main()
