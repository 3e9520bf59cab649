"""The rows of the reports' tables, as the page has them: with shapes, intervals, ratios and labels."""

import re
from pathlib import Path

import pandas as pd

from pipeline.config.tables import Table
from pipeline.reporting import table


def read(reports: Path, listed: Table) -> pd.DataFrame:
    """All rows of a table with their intervals; of each yardstick NAME also paper_to_NAME, the paper's ratio to it, and
    less_NAME, how far ours is above that."""
    rows = table.read_rows(reports, listed)
    intervals = pd.read_csv((reports / listed.csv).with_name("intervals.csv"), index_col="name")
    ends = {
        f"{prefix}{end}": f"{split}_raw_{end}"
        for prefix, split in (("", "test"), ("valid_", "valid"))
        for end in ("low", "high")
    }
    rows = rows.join(intervals.drop(columns=["perplexity", "valid", "seeds"]).rename(columns=ends))
    for name in (name for name in listed.yardsticks if f"to_{name}" in rows):
        rows[f"paper_to_{name}"] = rows["paper_test"] / rows.loc[name, "paper_test"]
        rows[f"less_{name}"] = rows[f"to_{name}"] / rows[f"paper_to_{name}"] - 1
    return rows.assign(row=spelt_out(rows["row"]), shape=[shape(row) for row in rows.to_dict("records")])


def shape(row: dict) -> str:
    """A row's order, classes and sizes in words."""
    words = [f"{key}\u00a0{row[key]:.0f}" for key in ("n", "c", "h", "m") if pd.notna(row[key])]
    return ", ".join(words + [word for key, word in (("direct", "direct"), ("mix", "mixed")) if row.get(key) is True])


def spelt_out(labels: pd.Series) -> pd.Series:
    """Labels in which `the same` is said in full, since a sorted table has other rows above: it stands for the model
    whose name this one's continues, or else for the row before."""
    whole: dict[str, str] = {}
    for name, label in labels.items():
        if label.startswith("the same"):
            meant = next((other for other in whole if name.startswith(f"{other}-")), next(reversed(whole)))
            label = label.replace("the same", whole[meant], 1)
        whole[name] = label
    return pd.Series(whole)


def labels(tables: list[pd.DataFrame]) -> dict[str, str]:
    """What the page calls each model, by its name in the code: the row's label in the first of the tables that has one,
    with the shape where others share it."""
    called: dict[str, str] = {}
    for rows in reversed(tables):
        shared = rows["row"].duplicated(keep=False)
        labelled = rows["row"].where(~shared, rows["row"] + ", " + rows["shape"])
        called |= labelled[rows["row"] != rows.index].to_dict()
    return called


def model(item: str, called: dict[str, str]) -> str:
    """What the page calls an item of a stage, named STAGE-MODEL or STAGE-MODEL-SEED; its name where it makes none."""
    name = item.partition("-")[2]
    network, _, seed = name.rpartition("-")
    return called.get(name) or (f"{called[network]}, seed {seed}" if network in called else item)


def renamed(text: str, called: dict[str, str]) -> str:
    """A sentence with models called as the page calls them; not in code, which a reader may want to type."""
    names = "|".join(re.escape(name) for name in sorted(called, key=len, reverse=True))
    return re.sub(rf"`[^`]*`|(?<![\w/.-])(?:{names})(?![\w/-])", lambda name: called.get(name[0], name[0]), text)
