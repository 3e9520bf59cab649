"""The stage timeline: models by year, and how much of the way each step went. The best are those of validation, here
not those of test."""

import math
import re

import pandas as pd
import pytest
from conftest import settings

from pipeline import timeline
from pipeline.core.common.errors import InputError
from pipeline.reporting import prose
from pipeline.reporting.table import NAMES

TABLE = """seeds: [0]
models: {{ngram: [one, two, three]}}
rows: {rows}
same_corpus: true
predictions: []
dvc: dvc.yaml
csv: {name}/{name}.csv
short: "{short}"
"""
ROWS = {
    "first": "{one: {year: 1980, source: A}, two: {},"
    " three: {year: 2018, source: C, kind: several, step: b, search: [some]}}",
    "second": "{two: {year: 2003, source: B, point: ours, step: a}}",
}


@pytest.fixture
def tables(tmp_path):
    """Two tables as the stage report writes them, the intervals of the first, and what conf/table has of both."""
    figures = {"one": (400, 360), "two": (200, 180), "three": (100, 190)}
    (tmp_path / "lists").mkdir()
    for name, rows in ROWS.items():
        text = TABLE.format(name=name, rows=rows, short="mine" if name == "second" else "")
        (tmp_path / "lists" / f"{name}.yaml").write_text(text)
        (tmp_path / name).mkdir()
        lines = [
            {"name": row, "row": f"row {row}", "model": "network", "seeds": 2, "valid_raw": valid, "test_raw": test}
            | {"valid_corrected": valid / 1.1, "test_corrected": test / (1.1 if name == "first" else 1.2)}
            for row, (valid, test) in figures.items()
        ]
        pd.DataFrame(lines, columns=["name", *NAMES]).to_csv(tmp_path / name / f"{name}.csv", index=False)
    ends = {
        f"{split}_raw_to_one{end}": [1.0, 0.5, 0.25] for split in ("test", "valid") for end in ("", "_low", "_high")
    }
    pd.DataFrame({"name": list(figures), **ends}).to_csv(tmp_path / "first" / "intervals.csv", index=False)
    spent = {"train-three-0": ("train", 60), "train_on-three-1": ("train", 180), "mix-one-0": ("mix", 60)}
    lines = [("first", stage, item, seconds) for item, (stage, seconds) in spent.items()]
    pd.DataFrame(lines, columns=["table", "stage", "item", "seconds"]).to_csv(tmp_path / "costs.csv", index=False)
    (tmp_path / "searches").mkdir()
    pd.DataFrame({"job": range(8)}).to_csv(tmp_path / "searches" / "some.csv", index=False)
    return tmp_path


def config(tables):
    places = [f"tables={tables}/lists", f"reports={tables}", f"out={tables}/out", f"timing={tables}/timing.json"]
    return settings("timeline", "of=[first,second]", "baseline=one", *places)


def test_models_stand_in_the_order_of_years_with_the_figures_of_their_table(tables):
    built = timeline.lines(config(tables))
    assert built["row"].to_dict() == {"one": "row one", "ours": "row two, mine", "three": "row three"}
    assert built.loc["ours", "test_corrected"] == pytest.approx(180 / 1.2)  # of the second table, which has its year
    assert (
        built.loc["three", "test_raw_ratio"] == pytest.approx(190 / 360)
        and built.loc["three", "test_raw_ratio_low"] == 0.25
    )
    assert pd.isna(built.loc["ours", "test_raw_ratio_low"])  # its table has no intervals
    assert built.loc["three", ["minutes", "trials"]].tolist() == [1, 8]  # of the quickest seed; of its grid
    assert built.loc[["one", "ours"], ["minutes", "trials"]].isna().all(axis=None)


def test_the_steps_make_up_the_whole_way(tables):
    walked = timeline.steps(timeline.lines(config(tables)))
    assert walked["what"].tolist() == ["a", "b"] and walked["from"].tolist() == ["row one", "row two, mine"]
    assert walked["valid_corrected_share"].tolist() == pytest.approx([0.5, 0.5])
    assert walked["test_corrected_share"].sum() == pytest.approx(1)
    assert walked["test_corrected_share"].iloc[0] == pytest.approx(math.log(360 / 1.1 / 150) / math.log(360 / 190))


def test_the_stage_writes_tables_and_a_picture_and_they_go_into_a_page_between_marks(tables):
    timeline.main(config(tables))
    page = tables / "page.md"
    page.write_text("before\n<!-- table: timeline.md -->\n<!-- end of timeline.md -->\nafter\n")
    prose.put_tables(page, tables / "out")
    assert "| row three" in page.read_text() and page.read_text().endswith("after\n")
    page.write_text("<!-- table: timeline.md -->")
    with pytest.raises(InputError, match=r"timeline\.md"):
        prose.put_tables(page, tables / "out")
    picture = (tables / "out" / "timeline.svg").read_text()
    assert "row three, 2018" in picture and ">172.7<" in picture
    *_, three = re.findall(r'<g clip-path.*\n +<use \S+ x="([\d.]+)"', picture)
    assert f"L {three} " in picture  # the line of the best so far goes there too
    assert "50%" in (tables / "out" / "steps.md").read_text()


def test_slips_are_named(tables):
    (tables / "second" / "second.csv").write_text((tables / "second" / "second.csv").read_text().replace("two", "four"))
    with pytest.raises(InputError, match=r"second/second\.csv has no row two"):
        timeline.lines(config(tables))
    file = tables / "lists" / "first.yaml"
    file.write_text(file.read_text().replace("several", "best"))
    with pytest.raises(InputError, match=r"rows\.three\.kind: "):
        timeline.lines(config(tables))


def test_a_search_that_left_no_table_is_named(tables):
    (tables / "searches" / "some.csv").unlink()
    with pytest.raises(InputError, match=r"no .*searches/some\.csv.*make search GRID=some"):
        timeline.lines(config(tables))
