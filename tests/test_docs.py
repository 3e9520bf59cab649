"""The documentation can be followed: its files are written, its commands run, its keys are all there."""

import json
import re
from pathlib import Path

import pytest
from forks import call

from pipeline.config import check, help
from pipeline.config.base import ROOT
from pipeline.config.check import STAGES, keys_of


@pytest.mark.parametrize("stage", STAGES)
def test_every_key_is_explained_in_the_help(stage, capsys):
    """A group of keys by its keys, all others by a sentence; the help shows each with its type."""
    assert help.answer(stage, []) == 0
    said = capsys.readouterr().out
    assert re.search(rf"^  python -m pipeline\.{stage}\b", said, re.MULTILINE), f"{stage}: no example"
    every = dict(check.keys(keys_of(stage)))
    for key, field in every.items():
        grouped = any(other.startswith((f"{key}.", f"{key}[]")) for other in every)
        assert field.description or grouped, f"{stage}: {key} has no description"
        assert re.search(rf"^  {re.escape(key)}\b", said, re.MULTILINE), f"{stage}: {key} is not shown"


def test_a_stage_answers_with_the_values_of_the_file_that_is_chosen(capsys):
    assert help.answer("train", ["recipe=paper"]) == 0
    assert re.search(r"^  recipe\.rate=0\.001 +\(float > 0\) e_0", capsys.readouterr().out, re.MULTILINE)
    assert call("train", "recipe=papers", "-h").code == 2


def test_the_tour_is_committed_as_it_ran():
    """Each cell in order, with its output and without an error; small enough to be looked at."""
    file = ROOT / "docs" / "tour.ipynb"
    cells = [cell for cell in json.loads(file.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    kinds = [output["output_type"] for cell in cells for output in cell["outputs"]]
    assert "display_data" in kinds and "error" not in kinds and len(kinds) >= len(cells) - 1
    assert file.stat().st_size < 500_000


PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "reports" / "LOG.md"]


@pytest.mark.parametrize("file", PAGES, ids=lambda file: file.name)
def test_links_lead_somewhere(file):
    """To a file that is there, and to a heading of it, as GitHub names headings."""
    links = re.findall(r"(?:\]\(|src=\")(?!https?:)([^)#\"]*)#?([^)\"]*)", file.read_text(encoding="utf-8"))
    for target, anchor in links:
        page = Path(file.parent, target) if target else file
        assert page.exists(), f"{file.name}: {target}"
        if anchor and page.suffix == ".md":
            text = page.read_text(encoding="utf-8")
            headings = [heading.lower().replace(" ", "-") for heading in re.findall(r"^#+ (.+)", text, re.MULTILINE)]
            places = [re.sub(r"[^\w-]", "", heading) for heading in headings] + re.findall(r'<a id="([^"]+)"', text)
            assert anchor in places, f"{file.name}: {target}#{anchor}"
