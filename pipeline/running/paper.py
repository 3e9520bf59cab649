"""The row of the paper to which a result belongs. MLflow's note of a run names it, and commands accept its name.

A stage reads its table only for the note. So neither the table nor this file is among the dependencies of the stage.
"""

from functools import cache
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from pipeline.config import groups
from pipeline.config.base import ROOT
from pipeline.core.common.stream import SPLITS


def table_of(folder: Path) -> str:
    """The table of a result in predictions/<table>/<name>/<seed>; "" for a result elsewhere."""
    parts = folder.resolve().parts[-4:]
    return parts[1] if parts[0] == "predictions" else ""


def note(folder: Path, name: str) -> str:
    """The row of the paper to which a result belongs, with its figures; "" if there is none. name: of the model."""
    table = _table(folder)
    row = (table.get("rows") or {}).get(name)
    if row is None:
        return ""
    figures = ", ".join(f"{split} {row[split]:g}" for split in SPLITS if split in row)
    if not figures:
        return f"{row['row']}. No figure is printed."
    corpus = "" if table.get("same_corpus", True) else ", on another corpus"
    return f"{row['row']}. The paper's perplexity{corpus}: {figures}."


def printed(folder: Path, name: str) -> dict[str, float]:
    """The perplexities that the paper prints for a result's row, as `paper_<split>`; none of another corpus."""
    table = _table(folder)
    row = (table.get("rows") or {}).get(name, {}) if table.get("same_corpus", True) else {}
    return {f"paper_{split}": row[split] for split in SPLITS if split in row}


def _table(folder: Path) -> dict[str, Any]:
    """The file of conf/table to which a result belongs, with what it takes over; {} if there is none."""
    file = (folder / "../../../../conf/table" / f"{table_of(folder)}.yaml").resolve()
    return _merged(file) if file.is_file() else {}


@cache  # for the many results of a table that are published together
def _merged(file: Path) -> dict[str, Any]:
    return groups.merged(file)


def model_of(row: str) -> str:
    """Our name of the model in a row of Table 1, by the paper's name of the row (`MLP2`, `mlp2/1`); any other name as
    it is."""
    label, slash, seed = row.partition("/")
    file = ROOT / "conf" / "table" / "table1.yaml"
    rows = OmegaConf.load(file).rows if file.is_file() else {}  # a published model has the code but no conf
    names = [name for name, entry in rows.items() if entry.row.lower() == label.lower()]
    return names[0] + slash + seed if len(names) == 1 else row
