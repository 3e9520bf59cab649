"""The documentation can be followed: its files are written, its commands run, its keys are all there."""

import dataclasses
import importlib
import re
import shutil
import subprocess
import sys
import typing
from itertools import chain
from pathlib import Path

import pytest

from pipeline.data.symbols import PARAGRAPH
from pipeline.running.app import ROOT
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


@pytest.mark.parametrize("stage", STAGES)
def test_every_key_is_explained(stage):
    """docs/configuration.md names each key of each stage's schema, and of what stands inside it."""
    text = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    section = re.search(rf"^## {stage}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert section, f"no section on {stage}"
    for key, items in keys(importlib.import_module(f"pipeline.{stage}").Config):
        assert f"`{key}`" in section.group(1), f"{stage}: {key}"
        for item in items:
            assert f"`{item}`" in text, f"{stage}: {item} of {key}"


def keys(schema: type, prefix: str = ""):
    """The dotted names of a dataclass's fields, of nested ones those of theirs; of listed ones their names."""
    for field in dataclasses.fields(schema):
        if dataclasses.is_dataclass(field.type):
            yield from keys(field.type, f"{prefix}{field.name}.")
        else:
            listed = [kind for kind in typing.get_args(field.type) if dataclasses.is_dataclass(kind)]
            yield f"{prefix}{field.name}", [item.name for kind in listed for item in dataclasses.fields(kind)]


@pytest.mark.parametrize("file", [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")], ids=lambda file: file.name)
def test_links_lead_somewhere(file):
    for target in re.findall(r"(?:\]\(|src=\")(?!https?:|#)([^)#\"]+)", file.read_text(encoding="utf-8")):
        assert Path(file.parent, target).exists(), f"{file.name}: {target}"
