"""Each dvc.yaml says of each stage just the code that it runs, so that one edit reruns what it must and no more."""

import ast
import re
from pathlib import Path

import pytest
import yaml

from pipeline.running.app import ROOT

STAGES = {
    f"{file.parent.relative_to(ROOT)} {name}": stage.get("do", stage)
    for file in (ROOT / "dvc.yaml", *ROOT.glob("experiments/*/dvc.yaml"))
    for name, stage in yaml.safe_load(file.read_text())["stages"].items()
}
# Wiring: it decides where results go and how a run is shown, never a number in an array.
WIRING = {
    "pipeline/running/app.py",
    "pipeline/running/tracking.py",
    "pipeline/running/sweep.py",
    "pipeline/training/checkpoint.py",
    "pipeline/training/processes.py",
}


def imports(file: Path) -> set[Path]:
    """The project's files that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        ours = [name for name in names if name.startswith(("pipeline", "benchmarks"))]
        found |= {ROOT / (name.replace(".", "/") + ".py") for name in ours}
    return {path for path in found if path.is_file()}


def closure(file: Path) -> set[str]:
    """A stage's file and all that it imports, wiring left out and not followed."""
    seen, ahead = set(), [file]
    while ahead:
        path = ahead.pop()
        name = path.relative_to(ROOT).as_posix()
        if name not in seen and name not in WIRING:
            seen.add(name)
            ahead += imports(path)
    return seen


def code(stage: dict) -> Path:
    """The file that a stage's command is about."""
    package, name = re.match(r"python -m (pipeline|benchmarks)[. ](\w+)", stage["cmd"]).groups()
    return ROOT / package / f"{name}.py"


@pytest.mark.parametrize("name", STAGES)
def test_code_dependencies_are_the_real_imports(name):
    stage = STAGES[name]
    declared = {dependency for dependency in stage["deps"] if dependency.endswith(".py")}
    module, used = code(stage).stem, closure(code(stage))
    # Which family of networks these read is for the model's configuration to say.
    if module in ("train", "out_of_vocabulary", "shortlist", "sampling", "parallel"):
        model_file = next(key for part in stage["params"] for key in part if key.startswith("conf/model/"))
        for model in stage.get("matrix", {}).get("model", [Path(model_file).stem]):
            family = yaml.safe_load((ROOT / "conf" / "model" / f"{model}.yaml").read_text())["family"]
            used |= closure(ROOT / "pipeline" / "core" / "networks" / f"{family}.py")
    assert declared == used


# Where things lie and how a run is shown or split over processes.
PLACES = {
    *("defaults", "hydra", "name", "data", "out", "timing", "csv", "reports", "timings", "readme", "intervals"),
    *("predictions", "clusters", "export", "checkpoints", "checkpoint_seconds", "parallel"),
}


@pytest.mark.parametrize("name", [name for name, stage in STAGES.items() if code(stage).parent.name == "pipeline"])
def test_every_value_that_a_stage_reads_is_listed_or_given(name):
    """An edit of conf/<stage>.yaml reruns what it changes."""
    stage = STAGES[name]
    module = code(stage).stem
    given = set(re.findall(r" (\w+)=", stage["cmd"]))
    values = yaml.safe_load((ROOT / "conf" / f"{module}.yaml").read_text())
    for file in (module, *(part for part in values["defaults"] if part == "seeds")):
        keys = yaml.safe_load((ROOT / "conf" / f"{file}.yaml").read_text()).keys() - PLACES
        listed = {key for part in stage["params"] for key in part.get(f"conf/{file}.yaml", [])}
        assert listed == keys - given


def test_core_knows_no_tool_and_no_path():
    """The core takes arrays and gives arrays: no Hydra, DVC, MLflow or file in it."""
    for file in (ROOT / "pipeline" / "core").rglob("*.py"):
        words = file.read_text(encoding="utf-8")
        for tool in ("import hydra", "from hydra", "omegaconf", "mlflow", "import dvc", "pathlib", "open("):
            assert tool not in words, f"{file} speaks of {tool}"
        for imported in imports(file):
            assert "core" in imported.parts, f"{file} imports {imported}"


def test_mlflow_stays_with_tracking_and_publishing():
    for file in (ROOT / "pipeline").rglob("*.py"):
        if file.name not in ("tracking.py", "publisher.py", "served.py"):
            assert not any(line.strip().startswith(("import mlflow", "from mlflow")) for line in file.open())
