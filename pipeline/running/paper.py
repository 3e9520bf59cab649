"""Which row of the paper a result stands for: MLflow's note of its run says it, and commands take the row's name."""

from pathlib import Path

from omegaconf import OmegaConf

from pipeline.data.corpus import SPLITS
from pipeline.running.keys import ROOT


def table_of(folder: Path, root: Path = ROOT) -> str:
    """The table of a result below predictions/<table>/<name>/<seed> of a checkout; "" of any other."""
    folder, root = folder.resolve(), root.resolve()
    parts = folder.relative_to(root).parts if folder.is_relative_to(root) else ()
    return parts[1] if len(parts) == 4 and parts[0] == "predictions" else ""


def notes(root: Path = ROOT) -> dict[tuple[str, str], str]:
    """By table and by our model's name: its row of the paper, and the figures there."""
    said = {}
    for file in sorted((root / "conf" / "table").glob("*.yaml")):
        table = OmegaConf.load(file)
        whose = "The paper's perplexity" + ", on another corpus" * (not table.get("same_corpus", True))
        for name, row in (table.get("rows") or {}).items():
            figures = ", ".join(f"{split} {row[split]:g}" for split in SPLITS if split in row)
            printed = f"{whose}: {figures}." if figures else "The paper prints no figure."
            said[file.stem, name] = f"{row.row}. {printed}"
    return said


def model_of(row: str, root: Path = ROOT) -> str:
    """Our name of the model in a row of Table 1 that is named as the paper does, `MLP2` or `mlp2/1`; else as given."""
    label, slash, seed = row.partition("/")
    table = root / "conf" / "table" / "table1.yaml"
    if not table.is_file():  # a published model has its code and no conf
        return row
    rows = OmegaConf.load(table).rows
    named = [name for name, printed in rows.items() if printed.row.lower() == label.lower()]
    return named[0] + slash + seed if len(named) == 1 else row
