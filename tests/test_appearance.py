"""Logs, subtitles and tables are told from prose; grids are drawn by what varies; figures take the page's ink."""

import itertools
import re

import pandas as pd
import pytest

from pipeline.data.looks import remarks
from pipeline.reporting import figures, style

PROSE = "It was at 10:30 that she went out, and the rain, which had been falling since noon,\nwas over.\n\n"
CHAT = "[12:01:{k:02}] ann: are you there\n"
SUBTITLES = "{k}\n00:01:{k:02},000 --> 00:01:{k:02},900\nNo, I am not.\n\n"
TABLE = '{k},ann,"a word or two"\n'
LIST = "a line that is a sentence by itself, number {k}\n"


@pytest.mark.parametrize(
    ("form", "says"),
    [
        (PROSE, []),
        (CHAT, ["300 lines are 1 paragraph: if each line is one", "begin with a time, as '[12:01:00] ann"]),
        (SUBTITLES, ["begin with a time, as '00:01:00,000 --> 00:01:00,900'"]),
        (TABLE, ["lines are 1 paragraph", "lines have 2 commas"]),
        (LIST, ["set corpus.format=lines"]),
        ("", []),
    ],
)
def test_a_text_that_is_no_prose_is_described(tmp_path, form, says):
    file = tmp_path / "text.txt"
    file.write_text("".join(form.format(k=k % 60) for k in range(300)))
    found = remarks(file, "utf-8")
    assert len(found) == len(says)
    for remark, words in zip(found, says, strict=True):
        assert words in remark


def grid(**columns) -> pd.DataFrame:
    """A grid's table, as a multirun collects it."""
    size = len(columns["valid_corrected"])
    return pd.DataFrame({"job": range(size)} | columns | {"failure": [""] * size})


def test_a_grid_over_one_key_shows_each_value_and_each_seed():
    table = grid(
        seed=[0, 1] * 3, **{"recipe.rate": ["1e-3", "1e-3", "2e-3", "2e-3", "4e-3", "4e-3"]}, valid_corrected=range(6)
    )
    drawing = figures.search(table)
    assert all(f">{text}<" in drawing for text in ("1e-3", "2e-3", "4e-3", "recipe.rate", "validation perplexity"))
    assert drawing.count("<use ") >= 6  # a mark for each job


def test_a_grid_over_seeds_alone_has_no_picture():
    assert figures.search(grid(seed=[0, 1], valid_corrected=[2.0, 3.0])) == ""
    assert figures.search(grid(model=["mlp1"], valid_corrected=[2.0])) == ""


def test_a_figure_is_the_same_for_the_same_data_and_takes_the_colour_of_the_text():
    table = pd.DataFrame({"model.n": [2, 3, 2, 3], "model.h": [0, 0, 9, 9], "valid_corrected": [300.0, 280, 290, 260]})
    one, two = (figures.maps({"direct": table}, "model.n", "model.h") for _ in range(2))
    assert one == two and "currentColor" in one and style.INK not in one
    ids = set(re.findall(r'id="([^"]+)"', style.inline(one, "grid")))
    assert ids and all(name.startswith("grid-") for name in ids)
    assert "--least: " in style.inline(one, "grid")  # the width from which on its smallest text is legible


def test_a_search_is_a_map_of_two_values_or_lines_through_more():
    settings = itertools.product(["1e-3", "2e-4"], ["10", "5"])
    lines = [(str(job), *setting, 300.0 + 10 * job, 280.0) for job, setting in enumerate(settings)]
    table = pd.DataFrame(lines, columns=["job", "rate", "size", "valid_corrected", "valid_corrected_seen"])
    two = figures.search(table)
    assert two.index("2e-4") < two.index("1e-3") and ">320<" in two  # by size, not by letters
    three = figures.search(
        table.assign(direct=["yes", "no", "yes", "no"])[[*table.columns[:3], "direct", "valid_corrected"]]
    )
    assert "direct" in three and "300.0" in three and "330.0" in three
    seeds = figures.over_seeds(table.rename(columns={"size": "seed"}))
    assert seeds["valid_corrected"].tolist() == [305.0, 325.0] and seeds["seeds"].tolist() == [2, 2]
    assert "seed" not in figures.search(table.rename(columns={"size": "seed"}))
