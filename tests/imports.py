"""What files of Python import."""

import ast
from pathlib import Path

from pipeline.config.base import ROOT


def imported(file: Path) -> set[str]:
    """The modules, and names of modules, that a file imports at any depth."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def closure(*files: Path) -> set[Path]:
    """These files of the project, and all that they import, directly or through others."""
    waiting, loaded = list(files), set()
    while waiting:
        file = waiting.pop()
        if file not in loaded:
            loaded.add(file)
            paths = [ROOT.joinpath(*name.split(".")) for name in imported(file) if name.startswith("pipeline")]
            packages = [parent / "__init__.py" for path in paths for parent in (path, *path.parents)]
            modules = [path.with_suffix(".py") for path in paths]
            waiting += [path for path in (*packages, *modules) if path.is_file() and ROOT / "pipeline" in path.parents]
    return loaded
