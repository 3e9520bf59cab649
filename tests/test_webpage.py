"""What the page shows of tables, claims and drawings, apart from the page."""

import re

import pandas as pd
import pytest

from pipeline.reporting import plane, style
from pipeline.webpage import claims, closeup, findings, markdown, rows

CALLED = {"mlp1": "MLP1", "mlp1-mixed": "MLP2", "linear": "linear", "class500-3": "class-based back-off, n 3, c 500"}


def test_the_same_is_the_row_that_it_means():
    """The one whose name it continues, else the one before: sorted, a table has other rows above it."""
    labels = {
        "svd": "direct, SVD",
        "nips": "the same with the trigram",
        "cycling1": "cycling, 1",
        "cycling5": "cycling, 5",
    }
    labels |= {"cycling8": "cycling, 8", "cycling5-short": "the same, scoring few words"}
    said = rows.spelt_out(pd.Series(labels))
    assert said["nips"] == "direct, SVD with the trigram" and said["cycling5-short"] == "cycling, 5, scoring few words"
    assert said["cycling8"] == "cycling, 8"


@pytest.mark.parametrize(
    ("name", "of"),
    [("mlp1-2", "MLP1, seed 2"), ("mlp1-mixed-0", "MLP2, seed 0"), ("class500-3", CALLED["class500-3"]), ("500", None)],
)
def test_an_item_is_called_by_its_model_and_seed(name, of):
    assert rows.model(name, CALLED) == of


def test_models_are_renamed_but_not_in_code_or_in_other_words():
    text = "mlp1: `train@mlp1-0`, step, mlp1-mixed; reports/mlp1.csv, mlp12, mlp1-learned"
    assert markdown.renamed(text, CALLED) == "MLP1: `train@mlp1-0`, step, MLP2; reports/mlp1.csv, mlp12, mlp1-learned"


def test_markdown_comes_in_pieces():
    text = "# Title\n\nBefore.\n\n## One\n\nA *word*.\n\n| a | b |\n|:--|--:|\n| x |   |\n\nAfter.\n\n## Two\n"
    before, one, two = markdown.sections(text)
    assert (
        before["title"] == "" and "Title" not in before["pieces"][0]["html"] and two == {"title": "Two", "pieces": []}
    )
    assert one["pieces"][0]["html"] == "<p>A <em>word</em>.</p>\n"
    assert one["pieces"][1] == {"columns": ["a", "b"], "rows": [["x", ""]], "wordy": [True, False]}
    assert "After" in one["pieces"][2]["html"]


@pytest.mark.parametrize(
    ("column", "text", "shown"),
    [
        ("test, raw", "+19.1% (+18.2% to +20.0%), no, one seed", ("+19.1 %", "+18.2 to +20.0 %", "no")),
        ("valid, with share", "-0.3% (-0.5% to -0.0%), yes", ("-0.3 %", "-0.5 to -0.0 %", "yes")),
        ("test, raw", "+5.1%, open", ("+5.1 %", None, "open")),
        ("test, raw", "+5.1% (+4.6% to +5.5%), one seed", ("+5.1 %", "+4.6 to +5.5 %", None)),
        ("paper", "+0.00% (less than 0.3 %)", "+0.00 % (less than 0.3 %)"),
        ("better", "mlp1-mixed", "MLP2"),
        ("says", "linear mlp1", "linear mlp1"),
        ("here", "within 1% of its best: mlp1 4 or more", "within 1 % of its best: “MLP1” 4 or more"),
    ],
)
def test_a_cell_of_the_claims_is_taken_apart(column, text, shown):
    found = claims.cell(column, text, CALLED)
    assert (found if isinstance(found, str) else (found["value"], found["interval"], found["verdict"])) == shown


def test_rows_that_reach_the_papers_ratio_are_counted_on_both_splits_and_readings(tmp_path):
    pd.DataFrame({"name": ["a"], "seeds": [3]}).to_csv(tmp_path / "table1.csv", index=False)
    ratios = {"over": ["kn5"] * 3 + ["other"] * 2, "valid_raw": [0.8, 0.9, 0.1, 0.9, 0.9], "valid": [0.9] * 5}
    ratios |= {"test_raw": [0.7] * 5, "test": [0.9, 0.8, 0.1, 0.9, 0.9], "paper_valid": [0.8, 0.8, None, 0.8, 0.8]}
    pd.DataFrame(ratios | {"paper_test": [0.8, 0.8, None, 0.8, 0.8]}).to_csv(
        tmp_path / "table1-ratios.csv", index=False
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(findings.table, "read", lambda file: pd.read_csv(file))
        (line,) = findings.reached(tmp_path, ["kn5", "other"])
    assert line["of"] == 2 and line["seeds"] == 3 and line["cells"] == [[1, 0], [0, 0], [2, 2], [1, 0]]


def test_the_close_up_spreads_words_and_keeps_their_size():
    places = [(x, y) for x in (-9.0, -0.2, 0, 0.1, 9) for y in (-9.0, -0.1, 0, 0.2, 9)]
    svg = style.inline(plane.draw(pd.DataFrame(places).to_numpy(), [f"word{place}" for place in range(25)]), "closeup")
    near = closeup.closeup(svg)

    def seen(text: str) -> tuple[float, float]:
        """How wide the view is, and letters in it."""
        width = float(re.search(r'viewBox="\S+ \S+ (\S+) \S+"', text)[1])
        return width, min(float(size) for size, _, _ in closeup.WORD.findall(text)) / width

    (wide, size), (narrow, kept) = seen(svg), seen(near)
    assert narrow < wide / 2 and kept == pytest.approx(size, rel=1e-3)
    assert "word12" in near and near.count('<path transform="scale(') >= 1
