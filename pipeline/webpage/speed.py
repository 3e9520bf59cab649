"""How fast it is: the benchmark's report, each of its tables with its CSV file, and what the papers say of time."""

from pathlib import Path

import pandas as pd

from pipeline.webpage import markdown


def report(reports: Path, called: dict[str, str]) -> list[dict]:
    """The sections of benchmark.md, with our models' labels; each table's `files`: the CSV that it was written from."""
    if not (reports / "benchmark.md").is_file():
        return []
    text = (reports / "benchmark.md").read_text(encoding="utf-8")
    numbered = {name: label for name, label in called.items() if any(map(str.isdigit, name))}  # `linear` is a word, too
    found = markdown.sections(markdown.renamed(text, numbered))
    for section, written in zip(found, markdown.sections(text), strict=True):
        for piece, table in zip(section["pieces"], written["pieces"], strict=True):
            if "rows" in table:
                piece["files"] = [f"benchmark/{name}" for name in sources(reports / "benchmark", table)]
    return found


def sources(folder: Path, table: dict) -> list[str]:
    """The CSV files with a table's columns and its first cell."""
    found = []
    for file in sorted(folder.glob("*.csv")):
        written = pd.read_csv(file, dtype=str)
        first = table["rows"][0][0].replace(",", "")
        if list(written.columns) == table["columns"] and written.iloc[0, 0].replace(",", "") == first:
            found.append(file.name)
    return found


def claims(benchmark: Path) -> list[dict]:
    """What the paper, and Bengio and Senecal (2003), say of time, with our figures where `make bench` left them."""
    found = []
    if (benchmark / "parallel.csv").is_file():
        runs = pd.read_csv(benchmark / "parallel.csv")
        runs = runs.query("softmax == 'full' and way == 'ParameterParallel' and processes > 1")
        for processes, share in zip(runs["processes"], runs["share of time"], strict=True):
            says = "Parameter-parallel training spends 1/15 of its time in communication"
            what = f"share of the time, {processes} processes, full softmax"
            found.append({"says": says, "what": what, "paper": 1 / 15, "ours": share, "holds": share <= 1 / 15})
    if (benchmark / "sampling.csv").is_file():
        runs = pd.read_csv(benchmark / "sampling.csv", index_col="softmax")
        times = runs.loc["importance, 1,024 draws", "times faster than full"]
        says = "Importance sampling trains a hundred times faster than the full softmax (Bengio and Senecal, 2003)"
        what = "times faster, 1,024 draws, in batches"
        found.append({"says": says, "what": what, "paper": 100, "ours": times, "holds": times >= 100})
    return found
