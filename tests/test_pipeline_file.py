"""Each dvc.yaml says of each stage just the code that it runs, so that one edit reruns what it must and no more."""

import ast
import re
from pathlib import Path

import pytest
import yaml

from pipeline.running.app import ROOT

FILES = (ROOT / "dvc.yaml", *sorted(ROOT.glob("experiments/*/dvc.yaml")))
STAGES = {
    f"{file.parent.relative_to(ROOT)} {name}": stage.get("do", stage)
    for file in FILES
    for name, stage in yaml.safe_load(file.read_text())["stages"].items()
}
# How a stage is run and shown: never a part of a number.
RUNNING = ROOT / "pipeline" / "running"


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


def closure(*files: Path) -> set[Path]:
    """The files and all that they import, without what only runs a stage."""
    seen, ahead = set(), list(files)
    while ahead:
        path = ahead.pop()
        if path not in seen and RUNNING not in path.parents:
            seen.add(path)
            ahead += imports(path)
    return seen


def code(stage: dict) -> Path:
    """The file that a stage's command is about."""
    package, name = re.search(r"python -m (pipeline|benchmarks)[. ](\w+)", stage["cmd"]).groups()
    return ROOT / package / f"{name}.py"


def families(name: str, stage: dict) -> list[Path]:
    """The files of the networks' families that a stage builds, which the model's configuration names."""
    folder, step = name.split(" ")
    table = {".": "table1", "experiments/ap": "table2"}.get(folder, Path(folder).name)
    lists = yaml.safe_load((ROOT / "conf" / "table" / f"{table}.yaml").read_text())
    listed = lists["models"] | {"adapt": lists["mix"]["networks"]}
    named = re.search(r" model=([\w-]+) ", stage["cmd"])
    step = step if step in listed else "train"  # one that goes on has the models of the first
    trained = [named[1]] if named else listed[step]
    files = (ROOT / "conf" / "model" / f"{model}.yaml" for model in trained)
    return [ROOT / "pipeline" / "networks" / f"{yaml.safe_load(file.read_text())['family']}.py" for file in files]


@pytest.mark.parametrize("name", STAGES)
def test_code_dependencies_are_the_real_imports(name):
    """All that a stage imports is declared, as a file or by its folder, and nothing is declared that it does not."""
    stage = STAGES[name]
    declared = [ROOT / path for path in stage["deps"] if path.startswith(("pipeline", "benchmarks"))]
    file = code(stage)
    used = closure(
        file, ROOT / "pipeline" / "__init__.py", *(families(name, stage) if file.stem in ("train", "adapt") else [])
    )
    for path in used:
        assert any(path == each or each in path.parents for each in declared), f"{path} is not declared"
    for each in declared:
        if each.suffix == ".j2":  # a template is opened, not imported
            assert each.name in file.read_text(encoding="utf-8")
            continue
        assert any(path == each or each in path.parents for path in used), f"{each} is not used"


def test_the_forms_of_table_2_have_the_same_stages():
    """In files of their own: DVC reads a link in a commit as a text, and then compares no metrics with that commit."""
    forms = {name: ROOT / "experiments" / name / "dvc.yaml" for name in ("table2", "table2-repeats", "ap")}
    assert not [file for file in (ROOT / "experiments").rglob("*") if file.is_symlink()]
    texts = {
        re.sub(r"conf/table/[\w-]+\.yaml", "", file.read_text(encoding="utf-8"), count=1) for file in forms.values()
    }
    assert len(texts) == 1


# Where things lie and how a run is shown.
PLACES = {
    *("defaults", "hydra", "name", "data", "out", "timing", "csv", "reports", "readme", "tables", "network"),
    *("predictions", "clusters", "export", "checkpoints", "checkpoint_seconds", "keep_state", "resume"),
}


@pytest.mark.parametrize("name", [name for name, stage in STAGES.items() if code(stage).parent.name == "pipeline"])
def test_every_value_that_a_stage_reads_is_listed_or_given(name):
    """An edit of conf/<stage>.yaml reruns what it changes."""
    stage = STAGES[name]
    module = code(stage).stem
    given = set(re.findall(r" (\w+)=", stage["cmd"]))
    keys = yaml.safe_load((ROOT / "conf" / f"{module}.yaml").read_text()).keys() - PLACES
    listed = {key for part in stage.get("params", []) for key in part.get(f"conf/{module}.yaml") or []}
    assert listed == keys - given


def test_subjects_know_no_tool_and_arrows_go_one_way():
    """Subjects take arrays and configuration: no Hydra, DVC or MLflow; and data imports none of the others."""
    allowed = {
        "data": {"data"},
        "text": {"text", "data"},
        "ngrams": {"ngrams", "data"},
        "networks": {"networks", "data"},
        "training": {"training", "networks", "data"},
        "reporting": {"reporting", "data"},
        "webpage": {"webpage", "reporting", "data"},
    }
    for subject, known in allowed.items():
        for file in (ROOT / "pipeline" / subject).glob("*.py"):
            words = file.read_text(encoding="utf-8")
            for tool in ("import hydra", "from hydra", "import omegaconf", "from omegaconf", "mlflow", "import dvc"):
                assert tool not in words, f"{file} speaks of {tool}"
            for imported in imports(file):
                assert imported.parent.name in known, f"{file} imports {imported}"


def test_the_top_of_the_pipeline_is_its_stages():
    """One file for each stage of a dvc.yaml, and nothing else."""
    stages = {code(stage).stem for stage in STAGES.values() if code(stage).parent.name == "pipeline"}
    assert {file.stem for file in (ROOT / "pipeline").glob("*.py")} - {"__init__"} == stages


def test_mlflow_stays_with_tracking_and_publishing():
    for file in (ROOT / "pipeline").rglob("*.py"):
        if file.name not in ("tracking.py", "published.py", "served.py"):
            assert not any(line.strip().startswith(("import mlflow", "from mlflow")) for line in file.open())


def test_no_target_forces_a_stage():
    assert "--force" not in (ROOT / "Makefile").read_text()


def test_all_stages_together_fit_on_a_few_screens():
    """Table 2's three experiments, which have the same ones, count once."""
    read = (file for file in FILES if file.parent.name not in ("table2-repeats", "ap"))
    assert sum(len(file.read_text().splitlines()) for file in read) < 750
