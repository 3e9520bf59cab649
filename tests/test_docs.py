"""The documentation can be followed: its files are written, its commands run, its keys are all there."""

import dataclasses
import importlib
import re
import shlex
import shutil
import subprocess
import sys
import typing
from itertools import chain
from pathlib import Path

import pytest
from conftest import composed, resolved
from omegaconf import OmegaConf

from pipeline.data.symbols import PARAGRAPH
from pipeline.running import help
from pipeline.running.app import ROOT
from pipeline.running.keys import groups, keys, names, read
from pipeline.text.readers import read_brown, stream

BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


@pytest.fixture
def checkout(tmp_path, brown_raw):
    """A copy of the code, with a text of some Brown files as novel.txt."""
    for name in ("conf", "pipeline"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    pieces = chain.from_iterable(read_brown((brown_raw / name).open()) for name in ("cp01", "cp02", "cp03", "cp04"))
    words = chain.from_iterable(stream(pieces, [PARAGRAPH]))
    (tmp_path / "novel.txt").write_text(" ".join(words).replace(PARAGRAPH, "\n\n"), encoding="utf-8")
    return tmp_path


def test_the_page_on_extending_works_step_by_step(checkout):
    printed = ""
    for kind, title, body in BLOCK.findall((ROOT / "docs" / "extend.md").read_text(encoding="utf-8")):
        if title:
            (checkout / title).write_text(body, encoding="utf-8")
        if kind == "sh":
            command = body.replace("python ", f"{sys.executable} ")
            ended = subprocess.run(
                ["bash", "-euc", command], cwd=checkout, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"}
            )
            assert ended.returncode == 0, body + ended.stdout + ended.stderr
            printed += ended.stdout
    table = printed[printed.index("| row") :]
    perplexity = {line.split("|")[1].strip(): float(line.split("|")[-3].strip()) for line in table.splitlines()[2:6]}
    assert perplexity["mixed with n-grams"] < min(perplexity["a narrow network"], perplexity["deleted interpolation"])
    assert max(perplexity, key=perplexity.get) == "unigram"


STAGES = [file.stem for file in (ROOT / "conf").glob("*.yaml") if (ROOT / "pipeline" / f"{file.stem}.py").is_file()]


CHOICES = [(stage, f"{group}={name}") for stage in STAGES for group in groups(stage) for name in names(group)]
GIVEN = {"corpus=text": ["corpus.raw=x"], "ngram=arpa": ["ngram.path=x"]}  # what a file leaves to the user


def schema(stage: str) -> type:
    return importlib.import_module(f"pipeline.{stage}").Config


def dotted(schema: type, prefix: str = ""):
    """The dotted names of a dataclass's fields, of nested ones those of theirs; of listed ones their items' too."""
    for field in dataclasses.fields(schema):
        listed = [kind for kind in typing.get_args(field.type) if dataclasses.is_dataclass(kind)]
        if dataclasses.is_dataclass(field.type):
            yield from dotted(field.type, f"{prefix}{field.name}.")
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


@pytest.mark.parametrize(("stage", "choice"), [*((stage, "") for stage in STAGES), *CHOICES])
def test_the_help_shows_the_values_that_a_stage_takes(stage, choice):
    given = [choice] if choice else []
    more = GIVEN.get(choice, [])
    config = resolved(stage, schema(stage), *given, *more)
    left = {name for name, _, _ in (argument.partition("=") for argument in more)}
    for key in keys(stage, given):
        if "[]" not in key.name and "..." not in key.value and "${" not in key.value and key.name not in left:
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
    assert "recipe.rate=4e-3" in ended.stdout and not ended.stderr.strip()


def test_a_stage_answers_with_the_values_of_the_file_that_is_chosen(stage):
    ended = stage("train", "recipe=paper", "--help")
    assert ended.returncode == 0 and not ended.stderr
    assert re.search(r"^  recipe\.rate=1e-3 +\(float\) e_0", ended.stdout, re.MULTILINE)
    assert "conf/table" not in ended.stdout and "+search=NAME" in ended.stdout
    ended = stage("train", "recipe=papers", "-h")
    assert ended.returncode == 2
    assert ended.stderr == "error: recipe=papers: choose one of energy, large, modern, nips, paper\n"


@pytest.mark.parametrize("file", [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")], ids=lambda file: file.name)
def test_links_lead_somewhere(file):
    for target in re.findall(r"(?:\]\(|src=\")(?!https?:|#)([^)#\"]+)", file.read_text(encoding="utf-8")):
        assert Path(file.parent, target).exists(), f"{file.name}: {target}"
