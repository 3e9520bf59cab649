"""python -m benchmarks [PART ...]: measures, and writes reports/benchmark.md.

A part's figures are kept in reports/benchmark, so that a part can be measured again alone.
"""

import argparse
import datetime
import platform
import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import torch

from benchmarks import batches, by_hand, kneser_ney, parallel, race, records, rounding, sampling, scaling, scoring
from pipeline.reporting import style, views

PARTS = {
    **race.PARTS,
    "records": records,
    "scoring": scoring,
    "rounding": rounding,
    "scaling": scaling,
    "sampling": sampling,
    "parallel": parallel,
    "batches": batches,
    "by_hand": by_hand,
    "kneser_ney": kneser_ney,
}
# Measured only when named: one needs a tool that nothing here installs, the others weights, or Table 2's corpus.
NAMED = {"kneser_ney", "race_large", "rounding"}
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
    """What the race comes to, ours against the best of the others in speed and in perplexity."""
    return "\n".join(_verdict(model, lines) for model, lines in runs.groupby("model"))


def _verdict(model: str, lines: pd.DataFrame) -> str:
    ended = lines[lines["valid_corrected"].notna()]
    ours, others = ended[ended["who"] == "ours"], ended[ended["who"] != "ours"]
    speed = race.speeds(lines)
    fastest = speed.drop("ours").idxmax()
    times = [speed.loc["ours", way] / speed.loc[fastest[way], way] for way in speed]
    own_best = others.loc[others.groupby("who")["valid_corrected"].idxmin()].sort_values("valid_corrected")
    best = ours.loc[ours["valid_corrected"].idxmin()]
    behind, reached = own_best[own_best["times ours"] == 0], own_best[own_best["times ours"] > 0]
    said = [
        f"- **{model}: {times[0]:.2f} times the words a second of the fastest other** ({fastest.iloc[0]}) "
        f"with a network on each core, {times[1]:.2f} times ({fastest.iloc[1]}) with one on all."
    ]
    if len(reached):
        closest = reached.loc[reached["times ours"].idxmin()]
        theirs = closest["s of the machine"]
        times_ours = f"{closest['times ours']:.2f}"
        equal = times_ours == "1.00"
        comparison = "As many machine-seconds as" if equal else f"{times_ours} times fewer machine-seconds than"
        said.append(
            f"{comparison} {closest['who']} takes to its own best "
            f"perplexity, {closest['valid_corrected']:.1f}: {theirs:.1f} and {theirs / closest['times ours']:.1f} s; "
            "more over the others that ours reaches."
        )
    if len(behind):
        figures = behind[["who", "valid_corrected", "s of the machine"]].itertuples(index=False)
        named = [f"{who} ({perplexity:.1f} in {seconds:.1f} s)" for who, perplexity, seconds in figures]
        said.append(
            f"**Not reached: the best perplexity of {', '.join(named)}**; ours comes to {best['valid_corrected']:.1f} "
            f"in {best['s of the machine']:.1f} s."
        )
    return " ".join(said)


def _markdown(table: pd.DataFrame) -> str:
    return views.markdown(table.map(views.plain).replace("nan", ""))


def parts() -> Iterator[dict[str, str]]:
    """Of each part that has been measured: its name, its title, and its text: where, how, and what it comes to."""
    for part, module in PARTS.items():
        if not _file(part).is_file():
            continue
        title = module.__doc__.partition("\n\n")[0]
        text = [_file(part).with_suffix(".txt").read_text(encoding="utf-8")]
        if part in race.PARTS:
            text.append(race_text(pd.read_csv(_file(part))))
        yield {"part": part, "title": " ".join(title.rstrip(".").split()), "text": "\n\n".join(text)}


def report() -> str:
    """The whole report, of the parts that have been measured."""
    text = ["# How fast it is", "Written by `make bench`; each part says when and where it was measured."]
    for part in parts():
        text += [f"## {part['title']}", part["text"], _markdown(pd.read_csv(_file(part["part"])))]
    return "\n\n".join(text)


def _file(part: str) -> Path:
    return REPORT.with_suffix("") / f"{part}.csv"


def main(arguments: list[str] | None = None) -> None:
    """Measures the parts named, or all; arguments: in place of the command line's."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    usual = [part for part in PARTS if part not in NAMED]
    told = f"{', '.join(PARTS)}; default: all but {' and '.join(sorted(NAMED))}"
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART", help=told)
    REPORT.with_suffix("").mkdir(exist_ok=True)
    wanted = parser.parse_args(arguments).parts or usual
    for part in dict.fromkeys([*wanted, *(["records"] if {*wanted} & {*race.PARTS} else [])]):
        # Of the code that is measured, not of what stands there in an hour or is measured another way in a month.
        where = "\n\n".join([machine(), *PARTS[part].__doc__.strip().split("\n\n")[1:]])
        measured = PARTS[part].run()
        measured.to_csv(_file(part), index=measured.index.name is not None or measured.index.nlevels > 1)
        _file(part).with_suffix(".txt").write_text(where, encoding="utf-8")
        if hasattr(PARTS[part], "picture"):
            drawn = style.alone(PARTS[part].picture(measured))
            _file(part).with_suffix(".svg").write_text(drawn, encoding="utf-8")
        REPORT.write_text(report(), encoding="utf-8")
        pd.DataFrame(parts()).to_csv(_file("parts"), index=False)  # for the page
    print(REPORT.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
