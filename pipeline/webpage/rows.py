"""The rows of the reports' tables, as the page shows them: with shapes, intervals and labels."""

from pathlib import Path

import pandas as pd

from pipeline.reporting import costs, table

TITLES = {
    "table1": "Table 1, today's recipe",
    "faithful": "Table 1, the paper's procedure",
    "faithful20": "Table 1, the paper's procedure, 20 epochs",
    "beyond": "NIPS 2000, today's recipe",
    "table2": "Table 2, today's recipe",
    "table2-repeats": "Table 2 with repeats",
    "later": "What came after",
}


def folder(reports: Path, name: str) -> Path:
    """Where a table of TITLES lies; Table 1's are at the top."""
    return reports if name == "table1" else reports / name


def read(place: Path, *tables: str) -> pd.DataFrame:
    """The rows of a folder's tables, with the table, the shape, the intervals, and the ratios of the paper's test
    perplexities to those of the yardsticks, paper_to_NAME. Empty where there are no tables or no intervals."""
    rows = {name: table.read(file) for name in tables if (file := place / f"{name}.csv").is_file()}
    if not rows or not (place / "intervals.csv").is_file():
        return pd.DataFrame(columns=[*table.COLUMNS, "table", "shape"])
    sure = pd.read_csv(place / "intervals.csv", index_col="name").drop(columns=["valid", "seeds"])
    found = pd.concat(each.assign(table=name) for name, each in rows.items()).join(sure)
    for name in found.index:
        if f"to_{name}" in found:
            found[f"paper_to_{name}"] = found["paper_test"] / found.loc[name, "paper_test"]
    return found.assign(row=spelt_out(found["row"]), shape=[shape(row) for row in found.to_dict("records")])


def shape(row: dict) -> str:
    """A row's order, classes and sizes in words."""
    said = [f"{key} {row[key]:.0f}" for key in ("n", "c", "h", "m") if pd.notna(row[key])]
    said += [word for key, word in (("direct", "direct"), ("mix", "mixed")) if row.get(key) is True]
    return ", ".join(said)


def spelt_out(labels: pd.Series) -> pd.Series:
    """Labels in which `the same` is said in full, since a sorted table has other rows above: it stands for the model
    whose name this one's continues, or else for the row before."""
    said: dict[str, str] = {}
    for name, label in labels.items():
        if label.startswith("the same"):
            meant = next((other for other in said if name.startswith(f"{other}-")), next(reversed(said)))
            label = label.replace("the same", said[meant], 1)
        said[name] = label
    return pd.Series(said)


def labels(reports: Path) -> dict[str, str]:
    """What the page calls each model, by its name in the code: the row's label, with the shape where others share it.

    Where tables differ, Table 1 has the last word.
    """
    found: dict[str, str] = {}
    for name in ("later", "table2-repeats", "table2", "faithful", "beyond", "table1"):
        rows = read(folder(reports, name), name, "extra")
        shared = rows["row"].duplicated(keep=False)
        found |= rows["row"].where(~shared, rows["row"] + ", " + rows["shape"]).to_dict()
    return found


def lines(frame: pd.DataFrame) -> list[dict]:
    """A frame's lines with its index among their values; what is missing is None."""
    frame = frame.reset_index(names=frame.index.name or "place").astype(object)
    return frame.where(frame.notna(), None).to_dict("records")


def records(file: Path) -> list[dict]:
    """The lines of a CSV file, of none where there is none."""
    return lines(pd.read_csv(file)) if file.is_file() else []


def spent(reports: Path, called: dict[str, str]) -> pd.DataFrame:
    """What each item of a stage took, most time first, with `of`: the model it made, where it made one. An item is
    named STAGE-MODEL-SEED."""
    found = costs.read(reports / "costs.csv").sort_values("seconds", ascending=False)
    made = [model(item.partition("-")[2], called) for item in found["item"]]
    return found.assign(of=made)


def model(name: str, called: dict[str, str]) -> str | None:
    """What the page calls NAME or NAME-SEED; None where neither is a model."""
    network, _, seed = name.rpartition("-")
    return called.get(name) or (f"{called[network]}, seed {seed}" if network in called else None)


def out_of_vocabulary(reports: Path, called: dict[str, str]) -> list[dict]:
    """The lines of every network's out-of-vocabulary-NAME.csv, with `of`, the network, and `file`."""
    found = []
    for file in sorted(reports.glob("beyond/out-of-vocabulary-*.csv")):
        network = file.stem.removeprefix("out-of-vocabulary-")
        more = {"of": called.get(network, network), "file": f"beyond/{file.name}"}
        found += [line | more for line in records(file)]
    return found
