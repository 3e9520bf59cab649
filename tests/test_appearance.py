"""Logs, subtitles, tables, markup and licences are told from prose; grids are drawn by what varies; figures take the
page's ink."""

import itertools
import re

import pandas as pd
import pytest

from pipeline.data.looks import remarks
from pipeline.reporting import figures, style

PROSE = "It was at 10:30 that she went out, and the rain, which had been falling since noon,\nwas over.\nThen\n\n"
CHAT = "[12:01:{k:02}] ann: are you there\n"
SUBTITLES = "{k}\n00:01:{k:02},000 --> 00:01:{k:02},900\nNo, I am not.\n\n"
TABLE = '{k},ann,"a word or two"\n'
LIST = "{k} is a line that is a sentence by itself\n"
BOOK = "*** START OF THIS PROJECT GUTENBERG EBOOK COMUS ***\n\n" + PROSE


def described(tmp_path, text: str, form: str = "plain") -> list[str]:
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    return remarks([tmp_path / "text.txt"], "utf-8", form)


@pytest.mark.parametrize(
    ("form", "says"),
    [
        (PROSE, []),
        (CHAT, ["300 lines are 1 paragraph: if each line is one", "begin with a time, as '[12:01:00] ann"]),
        (SUBTITLES, ["begin with a time, as '00:01:00,000 --> 00:01:00,900'"]),
        (TABLE, ["lines are 1 paragraph", "lines have 3 columns between commas"]),
        (LIST, ["set corpus.format=lines"]),
        (BOOK, ["*** START OF and *** END OF"]),
        ("", []),
    ],
)
def test_a_text_that_is_no_prose_is_described(tmp_path, form, says):
    found = described(tmp_path, "".join(form.format(k=k % 60) for k in range(300)))
    assert len(found) == len(says)
    for remark, words in zip(found, says, strict=True):
        assert words in remark


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("\u200e[14/03/21, 10:{k:02}:00] Ann: are you there", "begin with a time"),
        ("14.03.21, 9:{k:02} PM - Ann: are you there", "begin with a time"),
        ("2021-03-14T10:{k:02}:00Z INFO started", "begin with a time"),
        ("Jan 12 06:{k:02}:19 host sshd: closed", "begin with a time"),
        ("INFO closed the door number {k}", "begin with 'INFO'"),
        ("Dialogue: 0,0:01:{k:02}.00,0:01:{k:02}.90,,No, I am not.", "begin with a time"),
        ('{{"user": "ann", "text": "are you there, or {k}"}}', "JSON"),
        ("<p>It was over by <b>noon</b>, number {k}.</p>", "HTML"),
        ('{k},"No, I am not, he said, and went",4', "3 columns between commas"),
        ('{k}\t"No. I am there', "2 columns between tabs"),
    ],
)
def test_what_makes_a_text_easy_to_guess_is_named_in_every_format(tmp_path, line, says):
    """One line each, as `corpus.format=lines` reads it, which does not take out what stands there."""
    text = "".join(f"{line.format(k=10 + k % 50)}\n" for k in range(300))
    (found,) = [remark for remark in described(tmp_path, text, "lines") if says in remark]
    assert found in described(tmp_path, text, "plain")
    assert not described(tmp_path, text, "tokens")


def test_dialogue_and_poems_are_not_taken_for_logs_or_tables(tmp_path):
    lines = [
        "- Bonjour, dit-il.",
        "He said, and went",
        "<ann> are you there",
        '"No," she said, "I',
        "Then, he said, go",
        "",
    ]
    assert not described(tmp_path, "\n".join(lines * 100), "lines")


def test_many_short_files_are_described_as_one_text(tmp_path):
    for number in range(30):
        (tmp_path / f"{number}.txt").write_text("".join(SUBTITLES.format(k=k) for k in range(10)))
    (remark,) = remarks([*tmp_path.iterdir()], "utf-8", "plain")
    assert "begin with a time" in remark and "grep -vE" in remark


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
