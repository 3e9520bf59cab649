"""The documentation can be followed: its files are written, its commands run, its keys are all there."""

import dataclasses
import importlib
import json
import re
import shlex
import subprocess
import sys
import typing
from pathlib import Path

import pytest
from conftest import composed, resolved
from omegaconf import OmegaConf

from pipeline.config.base import groups, keys, names, read
from pipeline.running import help
from pipeline.running.app import ROOT

STAGES = [file.stem for file in (ROOT / "conf").glob("*.yaml") if (ROOT / "pipeline" / f"{file.stem}.py").is_file()]


CHOICES = [(stage, f"{group}={name}") for stage in STAGES for group in groups(stage) for name in names(group)]
GIVEN = {"corpus=text": ["corpus.raw=x"], "ngram=arpa": ["ngram.path=x"]}  # what a file leaves to the user


def schema(stage: str) -> type:
    return importlib.import_module(f"pipeline.{stage}").Config


def dotted(schema: type, prefix: str = ""):
    """The dotted names of a dataclass's fields, of nested ones those of theirs; of listed ones their items' too."""
    for field in dataclasses.fields(schema):
        inner = [kind for kind in typing.get_args(field.type) if dataclasses.is_dataclass(kind)]
        optional = inner and type(None) in typing.get_args(field.type)
        listed = [] if optional else inner
        if optional or dataclasses.is_dataclass(field.type):
            yield from dotted(inner[0] if optional else field.type, f"{prefix}{field.name}.")
        else:
            yield f"{prefix}{field.name}"
        for kind in listed:
            yield from dotted(kind, f"{prefix}{field.name}[].")


@pytest.mark.parametrize("stage", STAGES)
def test_every_key_is_explained_in_the_help(stage):
    """Beside the key, or beside the list whose items have it."""
    shown, said = {key.name: key for key in keys(stage)}, help.text(stage)
    assert list(shown) == list(dotted(schema(stage)))
    for name, key in shown.items():
        whole, _, item = name.rpartition("[].")
        assert key.comment or f"`{item}`" in shown[whole].comment, f"{stage}: {name} has no comment"
        assert key.type and f"\n  {name}" in said


def test_the_help_says_nothing_of_a_key_twice():
    """Where the comment beside a value repeats what its key is, in part or in other spacing."""
    model = {key.name: key.comment for key in keys("train")}
    assert model["model.h"] == "hidden units" and model["model.n"] == "order: n-1 words of context"
    assert model["model.direct"] == "from features straight to the output: feedforward, residual"
    table = {key.name: key.comment for key in keys("report")}
    assert table["table.clusterings"].endswith("n-grams; the longest first, so that the cores end together")
    assert table["table.rows"] == "what the paper has, in its order"


@pytest.mark.parametrize(("stage", "choice"), [*((stage, "") for stage in STAGES), *CHOICES])
def test_the_help_shows_the_values_that_a_stage_takes(stage, choice):
    given = [choice] if choice else []
    more = GIVEN.get(choice, [])
    config = resolved(stage, schema(stage), *given, *more)
    left = {name for name, _, _ in (argument.partition("=") for argument in more)}
    for key in keys(stage, given):
        inside = not key.value and key.name.count(".") > 1  # conf/ shows the whole of which it is a part
        if (
            "[]" not in key.name
            and "..." not in key.value
            and "${" not in key.value
            and key.name not in left
            and not inside
        ):
            shown = OmegaConf.create(f"value: {key.value}").value
            assert shown == OmegaConf.select(config, key.name), key.name


@pytest.mark.parametrize("stage", STAGES)
def test_the_helps_examples_compose(stage):
    head = read(f"{stage}.yaml").head
    assert head
    for line in head:
        python, flag, module, *arguments = shlex.split(line)
        assert [python, flag, module] == ["python", "-m", f"pipeline.{stage}"]
        composed(stage, schema(stage), *(argument for argument in arguments if argument != "-m"))


def test_the_help_is_quick_since_it_imports_nothing_heavy():
    code = (
        "import sys; from pipeline.running import help; help.answer('train', []); "
        "print(*{'torch', 'numpy', 'pandas', 'mlflow', 'hydra', 'omegaconf'} & set(sys.modules), file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "recipe.rate=1.4e-2" in ended.stdout and not ended.stderr.strip()


def test_a_stage_answers_with_the_values_of_the_file_that_is_chosen(stage):
    ended = stage("train", "recipe=paper", "--help")
    assert ended.returncode == 0 and not ended.stderr
    assert re.search(r"^  recipe\.rate=1e-3 +\(float\) e_0", ended.stdout, re.MULTILINE)
    assert "conf/table" not in ended.stdout and "+search=NAME" in ended.stdout
    ended = stage("train", "recipe=papers", "-h")
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: recipe=papers: choose one of awd-lstm, energy, large, lstm, modern, nips, ")


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
