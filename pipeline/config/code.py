"""Which files of pipeline/core a result depends on: those that decide its numbers."""

import ast
from functools import cache
from pathlib import Path

from pipeline.config.base import ROOT

CORE = ROOT / "pipeline" / "core"


def files_of(*files: Path) -> set[Path]:
    """These files and all of the core that they import, directly or through others, always by `from ... import`."""
    waiting, seen = list(files), set()
    while waiting:
        file = waiting.pop()
        if file not in seen:
            seen.add(file)
            waiting += _imported(file)
    return seen


@cache
def _imported(file: Path) -> list[Path]:
    imports = [
        node for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, ast.ImportFrom)
    ]
    names = [name for node in imports for name in (node.module, *(f"{node.module}.{each.name}" for each in node.names))]
    paths = [ROOT.joinpath(*(name or "").split(".")).with_suffix(".py") for name in names]
    return [path for path in paths if path.is_relative_to(CORE) and path.is_file()]
