"""Imports go one way: from what is shown to what is kept, to what is checked, to what decides a number."""

import sys

import pytest
from imports import closure, imported

from pipeline.config.base import ROOT

CORE = ROOT / "pipeline" / "core"
STDLIB = sys.stdlib_module_names - {"logging", "subprocess", "argparse"}
LAYERS = ["core", "config", "data", "running", "reporting", "webpage", "models", "commands"]  # each knows those before


def test_the_core_imports_nothing_of_the_rest():
    """No configuration, tool, message or file of the project's own; torch, numpy and the like alone."""
    allowed = {"torch", "numpy", "scipy", "pandas", "numba", "regex"}
    for file in CORE.rglob("*.py"):
        for name in imported(file):
            top = name.split(".")[0]
            assert top in allowed or name.startswith("pipeline.core") or top in STDLIB, f"{file} imports {name}"


@pytest.mark.parametrize("layer", ["config", "data", "reporting", "webpage", "models"])
def test_arrows_go_one_way(layer):
    """What is shown needs nothing of how a stage is run."""
    known = {*LAYERS[: LAYERS.index(layer) + 1]} - ({"running"} if layer in ("reporting", "webpage") else set())
    for file in (ROOT / "pipeline" / layer).glob("*.py"):
        ours = {name.split(".")[1] for name in imported(file) if name.startswith("pipeline.")}
        assert ours <= known, f"{file} imports {ours - known}"


@pytest.mark.parametrize(("stage", "most"), [("mix", 25), ("ngram", 25), ("report", 25), ("train", 40)])
def test_a_stage_makes_one_read_few_files(stage, most):
    """Of ours, that hold anything."""
    files = {
        file.relative_to(ROOT).as_posix() for file in closure(ROOT / "pipeline" / f"{stage}.py") if file.stat().st_size
    }
    assert len(files) <= most, sorted(files)
