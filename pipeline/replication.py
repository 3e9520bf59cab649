"""Stage replication: Table 1 three times over, the paper's figures, those of its procedure here, and those of today's
recipe, as the models give them and with the share for unseen words; ratios to Kneser-Ney 5 of the former; and the same
table in the README."""

import logging
from pathlib import Path

import pandas as pd

from pipeline.config.stages import Replication
from pipeline.config.tables import read_tables
from pipeline.reporting import readme, table, views
from pipeline.reporting.cells import laid_out, markdown
from pipeline.running import app

SPLITS = ("valid", "test")
YARDSTICK = "kn5"

log = logging.getLogger(__name__)


def main(config: Replication) -> None:
    """Writes replication.csv and replication.md into config.out, and the latter into the README."""
    registry, out = read_tables(Path(config.tables)), Path(config.out)
    listed = {"procedure": registry[config.procedure_table], "recipe": registry[config.recipe_table]}
    rows = {whose: table.read_rows(Path(config.reports), each) for whose, each in listed.items()}
    built = columns(rows, config.more)
    out.mkdir(parents=True, exist_ok=True)
    built.to_csv(out / "replication.csv", float_format="%.4f")
    text = markdown(laid_out(built, views.replication({whose: each.short for whose, each in listed.items()})))
    (out / "replication.md").write_text(text, encoding="utf-8")
    if config.readme:
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


if __name__ == "__main__":
    app.run("replication", main, timed=True)
