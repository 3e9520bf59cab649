"""What the code imports, pyproject.toml declares; nothing is there only because another package needs it."""

import re
import sys
import tomllib
from importlib.metadata import packages_distributions

import pytest
from imports import imported

from pipeline.running.app import ROOT

BY_PACKAGE = packages_distributions()
FOLDERS = ("pipeline", "benchmarks", "tests")
FILES = [ROOT / "nplm.py", *sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))]
OURS = {"nplm", "pipeline", "benchmarks"} | {file.stem for file in (ROOT / "tests").glob("*.py")}


def normal(name: str) -> str:
    """A distribution's name as packaging compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def declared() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = sum(project["optional-dependencies"].values(), project["dependencies"])
    return {normal(re.match(r"[\w.-]+", each)[0]) for each in wanted}


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_what_is_imported_is_declared(file):
    for package in {name.partition(".")[0] for name in imported(file)} - sys.stdlib_module_names - OURS:
        # A package of an extra that is not installed, such as kenlm, goes by its own name.
        distributions = {normal(name) for name in BY_PACKAGE.get(package, [package])}
        assert distributions & declared(), f"{file.name} imports {package}, of {', '.join(distributions)}"
