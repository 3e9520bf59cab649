"""python -m benchmarks [PART ...]: measures, and writes reports/benchmark.md.

A part's figures are kept in reports/benchmark, so that a part can be measured again alone.
"""

import argparse
import datetime
import platform
import re
from pathlib import Path

import pandas as pd
import torch

from benchmarks import batches, by_hand, kneser_ney, parallel, race, sampling, scaling, scoring
from pipeline.reporting import markup, style

PARTS = {
    **race.PARTS,
    "scoring": scoring,
    "scaling": scaling,
    "sampling": sampling,
    "parallel": parallel,
    "batches": batches,
    "by_hand": by_hand,
    "kneser_ney": kneser_ney,
}
NAMED = {"kneser_ney"}  # measured only when named: it needs a tool that nothing here installs
REPORT = Path("reports/benchmark.md")


def machine() -> str:
    """Processor, cores and versions of this machine."""
    cpuinfo = Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*: (.*)", cpuinfo.read_text()) if cpuinfo.is_file() else []
    processor = (names or [platform.processor()])[0]
    return (
        f"{datetime.date.today()}, commit {race.version()}; {race.CORES} cores, {processor}, "
        f"{torch.backends.cpu.get_cpu_capability()}; Python {platform.python_version()}, torch {torch.__version__}"
    )


def race_text(runs: pd.DataFrame) -> str:
    """The race's table and what it comes to: ours against the stock contestant that comes closest."""
    verdict = []
    for model, lines in runs.groupby("model"):
        ours, stock = lines[lines["who"] == "ours"], lines[lines["who"] != "ours"]
        own_best = stock.loc[stock.groupby("who")["with share"].idxmin()]
        closest = own_best.loc[own_best["times ours"].idxmin()]
        theirs = f"{closest['with share']:.1f} in {closest['s of the machine']:.1f} s"
        if closest["times ours"]:
            verdict.append(
                f"- **{model}: {closest['times ours']:.2f} times fewer machine-seconds** than the stock contestant "
                f"that comes closest, {closest['who']}, takes to its own best perplexity: {theirs}, ours as good in "
                f"{closest['s of the machine'] / closest['times ours']:.1f} s."
            )
        else:
            best = ours.loc[ours["with share"].idxmin()]
            verdict.append(
                f"- **{model}: behind {closest['who']}**, whose own best perplexity ours does not reach: {theirs}; "
                f"ours comes to {best['with share']:.1f} in {best['s of the machine']:.1f} s."
            )
    return "\n".join(verdict) + "\n\n" + _markdown(runs)


def _markdown(table: pd.DataFrame) -> str:
    return markup.markdown(table.map(_shown))


def _shown(value: str | float) -> str:
    """Text as it is, a number with four digits, or with all before the point: exponents hide what is to be compared."""
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def report() -> str:
    """The whole report, of the parts that have been measured."""
    text = ["# How fast it is", "Written by `make bench`; each part says when and where it was measured."]
    for part, module in PARTS.items():
        file = _file(part)
        if not file.is_file():
            continue
        where = file.with_suffix(".txt").read_text(encoding="utf-8")
        title, _, explanation = module.__doc__.partition("\n\n")
        figures = pd.read_csv(file)
        body = race_text(figures) if part in race.PARTS else _markdown(figures)
        text += [f"## {' '.join(title.rstrip('.').split())}", where, explanation.strip(), body]
    return "\n\n".join(paragraph for paragraph in text if paragraph)


def _file(part: str) -> Path:
    return REPORT.with_suffix("") / f"{part}.csv"


def main(arguments: list[str] | None = None) -> None:
    """Measures the parts named, or all; arguments: in place of the command line's."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    usual = [part for part in PARTS if part not in NAMED]
    told = f"{', '.join(PARTS)}; default: all but {', '.join(NAMED)}"
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART", help=told)
    REPORT.with_suffix("").mkdir(exist_ok=True)
    for part in parser.parse_args(arguments).parts or usual:
        where = machine()  # the code that is measured, not what stands there in an hour
        measured = PARTS[part].run()
        measured.to_csv(_file(part), index=measured.index.name is not None or measured.index.nlevels > 1)
        _file(part).with_suffix(".txt").write_text(where, encoding="utf-8")
        if hasattr(PARTS[part], "picture"):
            drawn = style.alone(PARTS[part].picture(measured))
            _file(part).with_suffix(".svg").write_text(drawn, encoding="utf-8")
        REPORT.write_text(report(), encoding="utf-8")
    print(REPORT.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
