"""The documentation can be followed: its files are written, its commands run, its keys are all there."""

import importlib
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import composed
from pipeline.running.keys import keys, read

from pipeline.running import help
from pipeline.running.app import ROOT

STAGES = [file.stem for file in (ROOT / "conf").glob("*.yaml") if (ROOT / "pipeline" / f"{file.stem}.py").is_file()]


def schema(stage: str) -> type:
    return importlib.import_module(f"pipeline.{stage}").Config


@pytest.mark.parametrize("stage", STAGES)
def test_every_key_is_explained_in_the_help(stage):
    """Beside the key, or beside the list whose items have it."""
    shown, said = {key.name: key for key in keys(stage)}, help.text(stage)
    for name, key in shown.items():
        whole, _, item = name.rpartition("[].")
        assert key.comment or f"`{item}`" in shown[whole].comment, f"{stage}: {name} has no comment"
        assert key.type and f"\n  {name}" in said


@pytest.mark.parametrize("stage", STAGES)
def test_the_helps_examples_compose(stage):
    head = read(f"{stage}.yaml").head
    assert head
    for line in head:
        python, flag, module, *arguments = shlex.split(line)
        assert [python, flag, module] == ["python", "-m", f"pipeline.{stage}"]
        composed(stage, schema(stage), *(argument for argument in arguments if argument != "-m"))


def test_a_stage_answers_with_the_values_of_the_file_that_is_chosen(stage):
    """Before it imports what takes seconds."""
    code = (
        "import sys; from pipeline.running import help; help.answer('train', ['recipe=paper']); "
        "print(*{'torch', 'numpy', 'pandas', 'mlflow'} & set(sys.modules), file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert re.search(r"^  recipe\.rate=1e-3 +\(float\) e_0", ended.stdout, re.MULTILINE) and not ended.stderr.strip()
    assert stage("train", "recipe=papers", "-h").returncode == 2


def test_the_tour_is_committed_as_it_ran():
    """Each cell in order, with its output and without an error; small enough to be looked at."""
    file = ROOT / "docs" / "tour.ipynb"
    cells = [cell for cell in json.loads(file.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    kinds = [output["output_type"] for cell in cells for output in cell["outputs"]]
    assert "display_data" in kinds and "error" not in kinds and len(kinds) >= len(cells) - 1
    assert file.stat().st_size < 500_000


@pytest.mark.parametrize("file", [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")], ids=lambda file: file.name)
def test_links_lead_somewhere(file):
    for target in re.findall(r"(?:\]\(|src=\")(?!https?:|#)([^)#\"]+)", file.read_text(encoding="utf-8")):
        assert Path(file.parent, target).exists(), f"{file.name}: {target}"
