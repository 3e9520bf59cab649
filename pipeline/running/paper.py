"""Which row of the paper a result stands for: MLflow's note of its run says it, and commands take the row's name.

A stage opens its table for the note alone, so the table is among its dependencies no more than this code is.
"""

import logging
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from pipeline.config.base import ROOT
from pipeline.data.corpus import SPLITS

log = logging.getLogger(__name__)


def table_of(folder: Path, root: Path = ROOT) -> str:
    """The table of a result below predictions/<table>/<name>/<seed> of a checkout; "" of any other."""
    folder, root = folder.resolve(), root.resolve()
    parts = folder.relative_to(root).parts if folder.is_relative_to(root) else ()
    return parts[1] if len(parts) == 4 and parts[0] == "predictions" else ""


def notes(table: str, root: Path = ROOT) -> dict[str, str]:
    """By our model's name: its row of the paper in a table of conf/table, and the figures there.

    None where the table is not there, or can't be read, as while it is edited: no stage fails because of its note.
    """
    file = root / "conf" / "table" / f"{table}.yaml"
    if not file.is_file():
        return {}
    try:
        read = OmegaConf.load(file)
        whose = "The paper's perplexity" + ", on another corpus" * (not read.get("same_corpus", True))
        return {name: f"{row.row}. {_printed(row, whose)}" for name, row in (read.get("rows") or {}).items()}
    except Exception as error:
        log.warning("no notes in MLflow: %s: %s", file, " ".join(str(error).split()))
        return {}


def _printed(row: DictConfig, whose: str) -> str:
    figures = ", ".join(f"{split} {row[split]:g}" for split in SPLITS if split in row)
    return f"{whose}: {figures}." if figures else "The paper prints no figure."


def model_of(row: str, root: Path = ROOT) -> str:
    """Our name of the model in a row of Table 1 that is named as the paper does, `MLP2` or `mlp2/1`; else as given."""
    label, slash, seed = row.partition("/")
    table = root / "conf" / "table" / "table1.yaml"
    if not table.is_file():  # a published model has its code and no conf
        return row
    rows = OmegaConf.load(table).rows
    named = [name for name, printed in rows.items() if printed.row.lower() == label.lower()]
    return named[0] + slash + seed if len(named) == 1 else row
