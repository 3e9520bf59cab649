"""The report's page: whole, by itself, and readable where people read: in a browser, on a phone, in the dark."""

import itertools
import json
import re
import shutil

import pandas as pd
import pytest
from conftest import composed

from pipeline import page
from pipeline.app import ROOT
from pipeline.core.errors import InputError
from pipeline.reporting import figures, style


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The page of the committed reports."""
    out = tmp_path_factory.mktemp("page")
    page.main(composed("page", page.Config, f"reports={ROOT / 'reports'}", f"out={out}"))
    return out / "index.html"


def test_it_holds_every_row_of_the_table_and_asks_for_nothing_else(written):
    text = written.read_text(encoding="utf-8")
    table = pd.read_csv(ROOT / "reports" / "table1.csv")
    for row, test in zip(table["row"], table["test"], strict=True):
        assert re.search(rf"<td>{re.escape(row)} (?:(?!</tr>).)*<td>{test:.1f}", text, re.DOTALL), row
    assert not re.search(r'(?:src|href)="(?!#|data:)', text)
    assert "nan" not in re.sub(r"<svg.*?</svg>", "", text, flags=re.DOTALL).lower().replace("fernando", "")


def test_without_the_tables_it_says_which_command_makes_them(tmp_path):
    with pytest.raises(InputError, match=r"table1\.csv: run `dvc repro`"):
        page.main(composed("page", page.Config, f"reports={tmp_path}", f"out={tmp_path}"))


def test_what_is_not_there_is_left_out(tmp_path):
    """Claims, grids, the plane and the rest come with other commands than `make repro`."""
    for file in ("table1.csv", "table1.svg", "intervals.csv", "genres.csv"):
        shutil.copy2(ROOT / "reports" / file, tmp_path)
    page.main(composed("page", page.Config, f"reports={tmp_path}", f"timings={tmp_path}", f"out={tmp_path}"))
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert 'id="claims"' not in text and 'id="rest"' not in text and 'id="cost"' not in text
    assert text.count("<figure") == 3


def test_table_2_stands_there_where_it_was_made(tmp_path):
    """Ratios to Kneser-Ney 5 and to the trigram beside the paper's, and the time beside the paper's."""
    for file in ("table1.csv", "table1.svg", "intervals.csv", "genres.csv"):
        shutil.copy2(ROOT / "reports" / file, tmp_path)
    (tmp_path / "table2").mkdir()
    paper = {"mlp10": 109.0, "interpolated3": 132.0, "kn5": 117.0}
    rows = pd.read_csv(ROOT / "reports" / "table1.csv", index_col="name").loc[[*paper]]
    rows.assign(paper_test=pd.Series(paper)).to_csv(tmp_path / "table2" / "table2.csv")
    own = ["perplexity", "low", "high"]
    columns = own + [f"to_{other}{end}" for other in ("kn5", "interpolated3") for end in ("", "_low", "_high")]
    found = pd.DataFrame(0.9, index=rows.index, columns=columns).assign(seeds=1)
    found.to_csv(tmp_path / "table2" / "intervals.csv")
    (tmp_path / "table2-train-large.json").write_text('{"seconds": 6000.0, "words_per_second": 11000.0}')
    page.main(composed("page", page.Config, f"reports={tmp_path}", f"timings={tmp_path}", f"out={tmp_path}"))
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    section = text[text.index('<section id="table2">') : text.index('<section id="words">')]
    assert "0.932" in section and "0.826" in section  # the paper's ratios of its MLP10
    assert "<td>100.0</td>\n<td>11,000</td>" in section and "<td>30,240</td>\n<td>39</td>" in section


def test_a_figure_is_the_same_for_the_same_data_and_takes_the_colour_of_the_text():
    table = pd.DataFrame({"model.n": [2, 3, 2, 3], "model.h": [0, 0, 9, 9], "valid": [300.0, 280, 290, 260]})
    one, two = (figures.maps({"direct": table}, "model.n", "model.h") for _ in range(2))
    assert one == two and "currentColor" in one and style.INK not in one
    ids = set(re.findall(r'id="([^"]+)"', style.inline(one, "grid")))
    assert ids and all(name.startswith("grid-") for name in ids)


def test_a_search_is_a_map_of_two_values_or_lines_through_more():
    table = pd.DataFrame(
        [
            (str(job), rate, size, "search", 300.0 + 10 * job, 280.0)
            for job, (rate, size) in enumerate(itertools.product(["1e-3", "2e-4"], ["10", "5"]))
        ],
        columns=["job", "rate", "size", "+search", "valid", "valid_seen"],
    )
    two = figures.search(table)
    assert two.index("2e-4") < two.index("1e-3") and ">320<" in two  # by size, not by letters
    three = figures.search(table.assign(direct=["yes", "no", "yes", "no"])[[*table.columns[:3], "direct", "valid"]])
    assert "direct" in three and "300.0" in three and "330.0" in three


LOOK = """
const boxes = [...document.querySelectorAll('figure svg')].map(svg => svg.getBoundingClientRect());
const drawn = [...document.querySelectorAll('figure svg')].map(svg => svg.querySelectorAll('path, use, text').length);
return {width: document.documentElement.scrollWidth, boxes: boxes.map(box => [box.width, box.height]), drawn,
        ground: getComputedStyle(document.body).backgroundColor, ink: getComputedStyle(document.body).color};
"""


@pytest.mark.peers
def test_in_a_browser_it_is_whole_and_quiet(written):
    """No console error, no request that leaves the page, every figure drawn, no sideways scrolling on a phone."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    assert binary and driver, "this test needs chromium and chromedriver: Debian's packages chromium, chromium-driver"
    options.binary_location = binary
    browser = webdriver.Chrome(options, webdriver.ChromeService(driver))
    try:
        seen = {}
        for name, width, scheme in (("desk", 1280, "light"), ("phone", 375, "dark")):
            size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
            browser.get(written.as_uri())
            seen[name] = browser.execute_script(LOOK)
            assert seen[name]["width"] <= width, name
            assert len(seen[name]["boxes"]) == written.read_text().count("<figure")
            assert all(w > 200 and h > 100 for w, h in seen[name]["boxes"]), name
            assert all(marks > 10 for marks in seen[name]["drawn"]), name
        assert seen["desk"]["ground"] != seen["phone"]["ground"] and seen["desk"]["ink"] != seen["phone"]["ink"]
        assert browser.get_log("browser") == []
        events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
        asked = [
            event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"
        ]
        assert asked and all(url.startswith("data:") or url == written.as_uri() for url in asked)
    finally:
        browser.quit()
