"""What decides a number stands apart from what is said about it, and each dvc.yaml follows from the tables, so that one
edit reruns what it must and no more."""

import ast
import sys
from itertools import chain
from pathlib import Path

import pytest
import yaml
from checkouts import copy_of_checkout
from dvc.repo import Repo

from pipeline.config import wiring
from pipeline.config.base import ROOT
from pipeline.config.code import CORE, files_of

STAGES = {
    f"{file.parent.relative_to(ROOT)} {name}": stage.get("do", stage)
    for file in (ROOT / "dvc.yaml", *sorted(ROOT.glob("experiments/*/dvc.yaml")))
    for name, stage in yaml.safe_load(file.read_text())["stages"].items()
}
STDLIB = sys.stdlib_module_names - {"logging", "subprocess", "argparse"}


def imported(file: Path) -> set[str]:
    """The modules that a file imports at any depth."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def test_each_dvc_yaml_follows_from_its_table():
    texts = wiring.dvc_files()
    assert texts.keys() | {ROOT / "experiments" / name / "dvc.yaml" for name in ("page", "streams")} == {
        *ROOT.glob("dvc.yaml"),
        *ROOT.glob("experiments/*/dvc.yaml"),
    }
    for file, text in texts.items():
        assert file.read_text(encoding="utf-8") == text, f"{file}: run `nplm wiring`"


def test_the_core_imports_nothing_of_the_rest():
    """No configuration, tool, message or file of the project's own; torch, numpy and the like alone."""
    allowed = {"torch", "numpy", "scipy", "pandas", "numba", "regex"}
    for file in CORE.rglob("*.py"):
        for name in imported(file):
            top = name.split(".")[0]
            assert top in allowed or name.startswith("pipeline.core") or top in STDLIB, f"{file} imports {name}"


def test_arrows_go_one_way():
    """From what is shown to what is kept, to what is checked, to what decides a number."""
    layers = ["core", "config", "data", "running", "reporting", "webpage", "models", "commands"]
    for layer, known in {"config": 3, "data": 3, "reporting": 5, "webpage": 6, "models": 7}.items():
        known = {*layers[:known], layer} - ({"running"} if layer in ("reporting", "webpage") else set())
        for file in (ROOT / "pipeline" / layer).glob("*.py"):
            ours = {name.split(".")[1] for name in imported(file) if name.startswith("pipeline.")}
            assert ours <= known, f"{file} imports {ours - known}"


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_depends_on_its_core_its_values_and_its_data(name):
    """Not on how a stage is run, checked or shown; and on every file of the core that its program imports."""
    deps = [dep for dep in STAGES[name].get("deps", []) if dep.startswith("pipeline") and "$" not in dep]
    makes_arrays = any("predictions" in str(out) or "data/" in str(out) for out in STAGES[name].get("outs", []))
    if makes_arrays and "out_of_vocabulary" not in name:
        assert all(dep.startswith("pipeline/core") for dep in deps)
    files = [file for dep in deps if (file := ROOT / dep).suffix == ".py" and file.is_relative_to(CORE)]
    folders = [ROOT / dep for dep in deps if (ROOT / dep).is_dir()]
    inside = [file for folder in folders for file in folder.glob("*.py") if CORE in file.parents]
    for used in files_of(*files, *inside):
        assert used in files or used.parent in folders, f"{used} is not declared"


# An edit of a file, and the stages that it must make stale: each a name, or the beginning of names. None: no stage at
# all that makes arrays, in any table.
HARMLESS = {
    "pipeline/running/messages.py": ("lower recipe.rate", "try a lower recipe.rate"),
    "pipeline/train.py": ("(running)", "(running sum)"),
    "pipeline/config/network.py": ("LARGEST = 100_000", "LARGEST = 200_000"),
    "pipeline/running/tracking.py": ('"nplm.group"', '"nplm.groups"'),
    "pipeline/config/recipe.py": ("Adam's, above zero", "Adam's, above nothing"),
    "pipeline/webpage/page.md.j2": ("Does it replicate", "Does it hold"),
    "pipeline/running/progress.py": ('"unit_scale": True', '"unit_scale": False'),
    "pipeline/core/families/of_ones_own.py": ("", '"""A new family."""\n'),
    "pipeline/commands/new.py": ("", '"""A new command."""\n'),
    "pipeline/core/readers/csv.py": ("", '"""A new reader."""\n'),
}
NETWORKS = {name.split()[1] for name, stage in STAGES.items() if "pipeline.train " in stage.get("cmd", "")}
SCORED = NETWORKS | {"shortlist", "adapt", "out_of_vocabulary"}  # by a network
COUNTED = {name.split()[1] for name, stage in STAGES.items() if "pipeline/core/ngrams" in stage.get("deps", [])}
COMPUTED = {name.split()[1] for name in STAGES} - {"download", "word_map", "replication", "timeline", "page"}
DECIDING = {
    "training/optimiser.py": ("recipe.rate / (1 +", "recipe.rate / (2 +", NETWORKS),  # the rate
    "networks/base.py": ("round(256 * self.p)", "round(255 * self.p)", SCORED),  # dropout
    "training/trainer.py": ("if recipe.weight_decay:", "if not recipe.weight_decay:", NETWORKS),
    "training/sampling.py": ("(counts + 1.0) ** power", "(counts + 2.0) ** power", NETWORKS),
    "common/mixture.py": ("tolerance: float = 1e-7", "tolerance: float = 1e-6", COMPUTED),  # EM
    "ngrams/kneser_ney.py": ("FIXED = (0.5,", "FIXED = (0.6,", COUNTED),  # discounts
    "ngrams/bins.py": ("(1 + frequency)", "(2 + frequency)", COUNTED),
    "readers/brown.py": (r"(\S+)/\S+", r"(\S+?)/\S+", {"preprocess", "streams"}),  # the tokeniser
    "families/lstm.py": ("batch_first=True", "batch_first=bool(1)", {"train_lstm", "train_mingru", "adapt"}),
    "common/evaluation.py": ("share == 0", "share <= 0", COMPUTED),  # the share
}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """DVC in a copy of the checkout, and the code that each stage of every table depends on, as it stands there."""
    folder = tmp_path_factory.mktemp("checkout")
    copy_of_checkout(folder)
    with pytest.MonkeyPatch.context() as patch, Repo(folder) as repo:
        patch.chdir(folder)
        code = {  # of one item of each stage: the others differ in names alone
            stage.addressing.split("@")[0]: [dep for dep in stage.deps if "/pipeline/" in str(dep.fs_path)]
            for stage in repo.index.stages
            if "page" not in stage.addressing
        }
        with repo.lock:
            for dep in chain.from_iterable(code.values()):
                dep.save()
        yield repo, code


def stale(repo: Repo, code: dict[str, list], edits: dict[str, tuple[str, str]]) -> set[str]:
    """The names of the stages whose code some edits, which are taken back, make differ from what it was."""
    files = {Path(repo.root_dir, name): edit for name, edit in edits.items()}
    texts = {file: file.read_text(encoding="utf-8") if file.is_file() else "" for file in files}
    try:
        for file, (before, after) in files.items():
            assert before in texts[file], f"{file} has no {before!r}"
            file.write_text(texts[file].replace(before, after) if before else after, encoding="utf-8")
        with repo.lock:
            return {place.split(":")[-1] for place, deps in code.items() if any(dep.changed_checksum() for dep in deps)}
    finally:
        for file, text in texts.items():
            file.unlink()
            if text:
                file.write_text(text, encoding="utf-8")


def test_what_says_something_makes_nothing_stale(checkout):
    """All ten edits at once."""
    assert stale(*checkout, HARMLESS) <= {"report", "claims", "out_of_vocabulary", "word_map", "timeline", "streams"}


@pytest.mark.parametrize("name", DECIDING)
def test_what_decides_a_number_makes_exactly_the_right_stages_stale(checkout, name):
    before, after, stages = DECIDING[name]
    assert stale(*checkout, {f"pipeline/core/{name}": (before, after)}) == stages
