"""Which files of pipeline/core a result depends on: those that decide its numbers."""

import ast
from functools import cache
from pathlib import Path

from pipeline.config.base import ROOT

CORE = ROOT / "pipeline" / "core"


def files_of(*files: Path) -> set[Path]:
    """These files and all of the core that they import, directly or through others. Files that only hold a docstring
    are left out."""
    waiting, seen = list(files), set()
    while waiting:
        file = waiting.pop()
        if file not in seen:
            seen.add(file)
            waiting += _imported(file)
    return {file for file in seen if file.name != "__init__.py"}


@cache
def _imported(file: Path) -> list[Path]:
    paths = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom):
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            path = ROOT.joinpath(*(name or "").split("."))
            if path.is_relative_to(CORE):
                paths += [each for each in (path.with_suffix(".py"), path / "__init__.py") if each.is_file()]
    return paths
