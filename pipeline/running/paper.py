"""Which row of the paper a result stands for: MLflow's note of its run says it, and commands take the row's name.

A stage opens its table for the note alone, so the table is among its dependencies no more than this code is.
"""

from pathlib import Path

from omegaconf import OmegaConf

from pipeline.config.base import ROOT


def table_of(folder: Path) -> str:
    """The table of a result in predictions/<table>/<name>/<seed>; "" of any other."""
    parts = folder.resolve().parts[-4:]
    return parts[1] if parts[0] == "predictions" else ""


def note(folder: Path, name: str) -> str:
    """The row of the paper that a result stands for, with the figures there; "" for none. name: of the model."""
    file = folder.resolve() / "../../../../conf/table" / f"{table_of(folder)}.yaml"
    table = OmegaConf.load(file) if file.is_file() else {}
    row = (table.get("rows") or {}).get(name)
    if row is None:
        return ""
    figures = ", ".join(f"{split} {row[split]:g}" for split in ("train", "valid", "test") if split in row)
    corpus = "" if table.get("same_corpus", True) else ", on another corpus"
    return f"{row.row}. The paper's perplexity{corpus}: {figures}." if figures else f"{row.row}. No figure is printed."


def model_of(row: str) -> str:
    """Our name of the model in a row of Table 1 that is named as the paper does, `MLP2` or `mlp2/1`; else as given."""
    label, slash, seed = row.partition("/")
    file = ROOT / "conf" / "table" / "table1.yaml"
    rows = OmegaConf.load(file).rows if file.is_file() else {}  # a published model has its code and no conf
    named = [name for name, printed in rows.items() if printed.row.lower() == label.lower()]
    return named[0] + slash + seed if len(named) == 1 else row
