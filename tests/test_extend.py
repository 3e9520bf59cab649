"""docs/extend.md can be followed: in a checkout of its own every edit is made, DVC says what it would run, and what is
small runs."""

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import pandas as pd
import pytest
from checkouts import copy_of_checkout
from dvc.repo import Repo
from dvc.stage import PipelineStage

from pipeline.config import groups
from pipeline.config.base import ROOT
from pipeline.core.common.stream import PARAGRAPH
from pipeline.core.readers import brown
from pipeline.core.text.pieces import stream
from pipeline.data.files import read_json

BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
PAGE = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8")
# The files of which the page asks what an edit would run again.
FAKED = ("dvc.yaml", "experiments/beyond/dvc.yaml", "experiments/later/dvc.yaml")
SECTIONS = [
    pytest.param(section, id=section.split("\n")[0], marks=[pytest.mark.thorough] * ("novel" in section))
    for section in re.findall(r"^## .*?(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
]


@pytest.fixture(scope="module")
def checkout(brown_raw, tmp_path_factory):
    """A copy of the checkout in which the stages of FAKED are done, and a text of some Brown files as novel.txt."""
    folder = tmp_path_factory.mktemp("checkout")
    copy_of_checkout(folder)
    pieces = chain.from_iterable(brown.pieces((brown_raw / name).open()) for name in ("cp01", "cp02", "cp03", "cp04"))
    words = chain.from_iterable(stream(pieces, [PARAGRAPH]))
    (folder / "novel.txt").write_text(" ".join(words).replace(PARAGRAPH, "\n\n"), encoding="utf-8")
    run(folder, "dvc config cache.dir cache")
    with Repo(folder) as repo:
        fill(chain.from_iterable(repo.stage.load_all(str(folder / file)) for file in FAKED))
    run(folder, f"dvc commit --force --quiet {' '.join(FAKED)}")
    assert "up to date" in run(folder, f"dvc status {' '.join(FAKED)}")
    return folder


def fill(stages: Iterable[PipelineStage]) -> None:
    """Puts files that say nothing in the place of what stages need and make."""
    for path in (Path(each.fs_path) for stage in stages for each in (*stage.outs, *stage.deps)):
        if path.suffix or path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        else:
            path.mkdir(parents=True)
            (path / "result").write_text(str(path))


def run(checkout: Path, command: str) -> str:
    """What a command of the page prints, in the project's environment."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "MLFLOW_TRACKING_URI": f"sqlite:///{checkout / 'mlflow.db'}"}
    nplm = 'nplm() { python -m pipeline.commands "$@"; }'  # by the code of this folder
    ended = subprocess.run(
        ["bash", "-euc", f"{nplm}\n{command}"], cwd=checkout, env=environment, capture_output=True, text=True
    )
    assert ended.returncode == 0, command + ended.stdout + ended.stderr
    return ended.stdout


def edited(text: str, diff: str) -> str:
    """A file's text after an edit as a diff shows it: lines that stay, go and come."""
    lines = diff.splitlines(keepends=True)
    before, after = ("".join(line[1:] for line in lines if line[0] in kept) for kept in (" -", " +"))
    assert text.count(before) == 1, before
    return text.replace(before, after)


@pytest.mark.parametrize("section", SECTIONS)
def test_each_edit_of_the_page_does_what_it_says(checkout, section):
    """Sections build on the ones before only by the files that they add, and by entries of the lists of models: other
    edits of committed files are taken back. What makes or needs the table of a novel takes a minute."""
    changed = {file: file.read_text(encoding="utf-8") for file in checkout.glob("experiments/*/dvc.yaml")}
    changed[checkout / "dvc.yaml"] = (checkout / "dvc.yaml").read_text(encoding="utf-8")
    printed = ""
    for kind, title, body in BLOCK.findall(section):
        file = checkout / title
        if kind == "diff":
            changed.setdefault(file, file.read_text(encoding="utf-8"))
            file.write_text(edited(file.read_text(encoding="utf-8"), body), encoding="utf-8")
        elif title:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(body, encoding="utf-8")
        elif kind == "sh":
            printed = run(checkout, body)
        elif kind == "text":
            assert sorted(printed.splitlines()) == sorted(body.splitlines())
    for file, text in changed.items():
        if file.name not in groups.LISTED.values():
            file.write_text(text, encoding="utf-8")


@pytest.mark.thorough
def test_the_sections_have_left_what_the_page_promises(checkout):
    """A table of one's own from two files, a corpus by a reader of one's own, a column, a command, a mixture."""
    table = pd.read_csv(checkout / "reports" / "novel" / "novel.csv", index_col="name")
    assert set(table.index) == {"narrow", "lowrank", "rectified", "narrow-learned", "interpolated3", "kn3"}
    assert (table["valid_corrected"] > 1).all() and table.loc["narrow-learned", "valid_corrected"] < table.loc[
        "interpolated3", "valid_corrected"
    ]
    written = [(checkout / "conf" / group / "novel.yaml").read_text().splitlines() for group in ("corpus", "table")]
    assert sum(map(len, written)) <= 30
    corpus, columns = (read_json(checkout / folder / "counts.json") for folder in ("data/novel", "outputs/columns"))
    assert columns["paragraphs"] == corpus["paragraphs"] and columns["tokens"] > 9000
    best = pd.read_csv(checkout / "outputs" / "report" / "novel.csv", index_col="name")["valid_corrected_best"]
    assert best.to_dict() == table["valid_corrected"].to_dict()  # of one seed
    frequent = pd.read_csv(checkout / "frequent.csv")
    assert len(frequent) == 5 and frequent["count"].is_monotonic_decreasing
    assert read_json(checkout / "outputs" / "mixture" / "run.json")["name"] == "narrow+interpolated3+unigram"
