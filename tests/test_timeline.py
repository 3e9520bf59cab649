"""The stage timeline: models by year, and how much of the way each step went."""

import math

import pandas as pd
import pytest
from conftest import composed

from pipeline import timeline
from pipeline.data.errors import InputError
from pipeline.reporting.table import COLUMNS


@pytest.fixture
def tables(tmp_path):
    """Two tables as the stage report writes them, and the intervals of the first."""
    figures = {"one": (400, 360), "two": (200, 180), "three": (100, 90)}
    for file, names in (("first", ["one", "two", "three"]), ("second", ["two"])):
        lines = [
            {"name": name, "row": f"row {name}", "model": "network", "seeds": 2, "valid_raw": valid, "test_raw": test}
            | {"valid": valid / 1.1, "test": test / (1.1 if file == "first" else 1.2)}
            for name, (valid, test) in figures.items()
            if name in names
        ]
        pd.DataFrame(lines, columns=["name", *COLUMNS]).to_csv(tmp_path / f"{file}.csv", index=False)
    ends = {f"{split}to_one{end}": [1.0, 0.5, 0.25] for split in ("", "valid_") for end in ("", "_low", "_high")}
    pd.DataFrame({"name": list(figures), **ends}).to_csv(tmp_path / "intervals.csv", index=False)
    return tmp_path


def config(tables, *more):
    points = "[{name: one, year: 1980, source: A}, {name: three, year: 2018, source: C, kind: several}, "
    points += f"{{name: two, year: 2003, source: B, row: ours, table: {tables}/second.csv}}]"
    steps = "[{to: two, what: a}, {to: three, what: b}]"
    places = [f"tables=[{tables}/first.csv,{tables}/second.csv]", f"intervals={tables}/intervals.csv"]
    rest = ["start=one", "yardstick=one", f"out={tables}/out", f"timing={tables}/timing.json", "readme="]
    return composed("timeline", timeline.Config, f"points={points}", f"steps={steps}", *places, *rest, *more)


def test_models_stand_in_the_order_of_years_with_the_figures_of_their_table(tables):
    built = timeline.lines(config(tables))
    assert list(built.index) == ["one", "two", "three"] and list(built["row"]) == ["row one", "ours", "row three"]
    assert built.loc["two", "test"] == pytest.approx(180 / 1.2)  # of the second table, as the point says
    assert built.loc["three", "test_ratio"] == pytest.approx(0.25) and built.loc["three", "test_ratio_low"] == 0.25
    assert pd.isna(built.loc["two", "test_ratio_low"])  # no interval of another table's row


def test_the_steps_make_up_the_whole_way(tables):
    walked = timeline.steps(timeline.lines(config(tables)), "one", config(tables).steps)
    assert walked["valid_share"].tolist() == pytest.approx([0.5, 0.5])
    assert walked["test_share"].sum() == pytest.approx(1)
    assert walked["test_share"][0] == pytest.approx(math.log(360 / 1.1 / 150) / math.log(4))


def test_the_stage_writes_tables_and_picture_and_the_page_between_marks(tables):
    page = tables / "README.md"
    page.write_text("before\n<!-- timeline -->\n<!-- end of timeline -->\nafter\n")
    timeline.main(config(tables, f"readme={page}"))
    assert "| row three |" in page.read_text() and page.read_text().endswith("after\n")
    assert "row three, 82" in (tables / "out" / "timeline.svg").read_text()
    assert "50%" in (tables / "out" / "steps.md").read_text()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["start=four"], "start: four is none of the points"),
        (["points=[{name: one, year: 1980, source: A, kind: best}]"], "points: one: kind='best': choose one of one,"),
        (["steps=[{to: four, what: a}]"], "steps: four is none of the points"),
    ],
)
def test_slips_are_named(tables, more, says):
    with pytest.raises(InputError, match=says):
        config(tables, *more)


def test_a_row_that_no_table_has_is_named(tables):
    points = "points=[{name: one, year: 1980, source: A}, {name: four, year: 1990, source: D}]"
    with pytest.raises(InputError, match="no table has the row four"):
        timeline.lines(config(tables, points, "steps=[{to: four, what: a}]"))
