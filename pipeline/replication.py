"""Stage replication: Table 1 three times over, the paper's figures, those of its procedure here, and those of today's
recipe, as the models give them and with the share for unseen words; ratios to Kneser-Ney 5 of the former; and the same
table in the README."""

import logging
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from pipeline.data.errors import InputError
from pipeline.reporting import markup, readme, table
from pipeline.running import app

SPLITS = ("valid", "test")
YARDSTICK = "kn5"
TITLES = {"paper": "the paper", "procedure": "the paper's procedure", "recipe": "today's recipe"}

log = logging.getLogger(__name__)


@dataclass
class Config:
    """conf/replication.yaml."""

    recipe: list[str]
    procedure: list[str]
    more: list[str]
    readme: str
    out: str
    timing: str


def main(config: Config) -> None:
    """Writes replication.csv and replication.md into config.out, and the latter into the README."""
    files = {"procedure": config.procedure, "recipe": config.recipe}
    built = columns({whose: _read(each) for whose, each in files.items() if each}, config.more)
    out = Path(config.out)
    out.mkdir(parents=True, exist_ok=True)
    built.to_csv(out / "replication.csv", float_format="%.4f")
    text = markup.markdown(figures(built))
    (out / "replication.md").write_text(text, encoding="utf-8")
    readme.put(Path(config.readme), "replication", text)
    log.info("%d rows in %s and %s", len(built), out / "replication.md", config.readme)


def columns(trained: dict[str, pd.DataFrame], more: list[str]) -> pd.DataFrame:
    """A line for each row that the paper prints, and for each in `more`: valid and test of the paper and of each
    training (raw), the latter with the share for unseen words, and ratios of the raw ones to Kneser-Ney 5 of the same
    column. An n-gram stands in each."""
    recipe = trained["recipe"]
    rows = recipe[recipe["paper_test"].notna() | recipe.index.isin(more)]
    built = rows[["row", "n", "c", "h", "m"]].copy()
    for split in SPLITS:
        built[f"paper_{split}"] = rows[f"paper_{split}"]
        for whose, its in trained.items():
            built[f"{whose}_{split}"] = its[f"{split}_raw"].reindex(rows.index)
            built[f"{whose}_{split}_share"] = its[split].reindex(rows.index)
        for whose in ("paper", *trained):
            built[f"{whose}_{split}_ratio"] = built[f"{whose}_{split}"] / built.loc[YARDSTICK, f"{whose}_{split}"]
    return built


def figures(built: pd.DataFrame) -> pd.DataFrame:
    """The table as text: validation / test in each cell."""
    read = pd.DataFrame({"row": built["row"]})
    for column in ("n", "c", "h", "m"):
        read[column] = markup.text(built[column], "{:d}")
    titles = {whose: title for whose, title in TITLES.items() if f"{whose}_test" in built}
    for whose, title in titles.items():
        read[title] = _both(built, whose, "", "{:g}" if whose == "paper" else "{:.1f}")
    for whose, title in titles.items():
        if whose != "paper":
            read[f"{title}, with share"] = _both(built, whose, "_share", "{:.1f}")
    for whose, title in titles.items():
        read[f"{title}, ratio"] = _both(built, whose, "_ratio", "{:.3f}")
    return read


def _both(built: pd.DataFrame, whose: str, ending: str, form: str) -> pd.Series:
    valid, test = (markup.text(built[f"{whose}_{split}{ending}"], form) for split in SPLITS)
    return (valid + " / " + test).where(test != "", "")


def _read(files: list[str]) -> pd.DataFrame:
    """The tables that the stage report wrote, one below the other."""
    for file in files:
        if not Path(file).is_file():
            raise InputError(f"no {file}: `make repro` and `make faithful` write the tables, and both are committed")
    return pd.concat(table.read(Path(file)) for file in files)


if __name__ == "__main__":
    app.run("replication", Config, main, timed=True)
