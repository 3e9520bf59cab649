"""The page of the report: whole, by itself, and readable in a browser, on a phone, in the dark and on paper."""

import html
import json
import re
import shutil
import subprocess

import pandas as pd
import pytest
from conftest import run

from pipeline.config.tables import read_tables
from pipeline.core.common.errors import InputError
from pipeline.reporting import prose
from pipeline.running.app import ROOT
from pipeline.webpage.render import SHOWN, render

REPORTS = ROOT / "reports"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The page of the committed reports."""
    out = tmp_path_factory.mktemp("page")
    run("page", f"reports={REPORTS}", f"out={out}")
    return out / "index.html"


@pytest.fixture
def least(tmp_path):
    """A folder with the reports that a page needs at least, and the page's text by what is in the folder."""
    for file in ("table1.csv", "stream.csv", "intervals.csv", "genres.csv"):
        shutil.copy2(REPORTS / file, tmp_path)

    def page(*words: str) -> str:
        run("page", f"reports={tmp_path}", f"out={tmp_path}", *words)
        return (tmp_path / "index.html").read_text(encoding="utf-8")

    return tmp_path, page


def plain(part: str) -> str:
    """A part of the page as text."""
    return " ".join(html.unescape(re.sub("<[^>]+>", " ", part)).split())


def cells(text: str) -> dict[str, list[list[str]]]:
    """Of each table, by its title, each row as text; of one that is folded all rows."""
    parts = re.findall(r'title">(.*?)</td>.*?<tbody[^>]*>(.*?)</tbody>', text)
    rows = {plain(title): re.findall("<tr>(.*?)</tr>", body) for title, body in parts}
    return {title: [[*map(plain, re.findall("<t[hd].*?</t[hd]>", row))] for row in rows[title]] for title in rows}


def test_it_holds_every_row_of_every_table_and_asks_for_nothing_else(written):
    text = written.read_text(encoding="utf-8")
    shown = cells(text)
    for name, listed in read_tables(ROOT / "conf" / "table").items():
        if listed.csv and (REPORTS / listed.csv).is_file():
            title = f"Table 1 by {listed.short}" if name in ("table1", "published") else listed.title
            (rows,) = [rows for head, rows in shown.items() if re.match(rf"{re.escape(title)}, seeds: \d", head)]
            for line in pd.read_csv(REPORTS / listed.csv).itertuples():
                label = listed.rows[line.name].row if line.name in listed.rows else line.row  # today's, not the run's
                assert any(label == row[0] and f"{line.test_raw:.1f}" in " ".join(row) for row in rows), line.name
    answer = re.search(r"\*\*(.+?)\*\*", prose.between(ROOT / "README.md", "verdict"))[1]
    assert re.sub(r"\[(.+?)\]\(.+?\)", r"\1", answer) in plain(text).replace(" , ", ", ")
    assert re.findall(r'<(?:script|link|img|iframe|object)\b[^>]*(?:src|href)="([^"]*)"', text) == ["data:,"]
    assert "@import" not in text and set(re.findall(r"url\((.)", text)) == {"#"}
    every = [cell for rows in shown.values() for row in rows for cell in row]
    assert len(every) > 2000 and not [cell for cell in every if re.fullmatch(r"nan|None|<NA>", cell)]


def test_the_committed_page_is_that_of_the_committed_reports(written):
    """And of the README, of which DVC does not know. Another machine may draw a figure otherwise."""
    ours, committed = (file.read_text(encoding="utf-8") for file in (written, REPORTS / "index.html"))
    assert re.sub("<svg.*?</svg>", "", ours, flags=re.DOTALL) == re.sub("<svg.*?</svg>", "", committed, flags=re.DOTALL)


def test_what_is_not_there_is_left_out_and_a_table_of_ones_own_needs_its_file_in_conf_alone(least, tmp_path):
    folder, page = least
    assert re.findall(r'<section id="(\w+)"', page()) == ["rows", "authors", "genres", "again"]
    shutil.copytree(ROOT / "conf" / "table", tmp_path / "tables")
    own = (ROOT / "conf" / "table" / "published.yaml").read_text().replace("published/published.csv", "novel/novel.csv")
    own = re.sub("^(section|column): .*$", r'\1: ""', own, flags=re.MULTILINE)
    own = own.replace("title: Table 1,", "title: Novel,")
    (tmp_path / "tables" / "novel.yaml").write_text(own)
    (folder / "novel").mkdir()
    shutil.copy2(folder / "table1.csv", folder / "novel" / "novel.csv")
    text = page(f"tables={tmp_path / 'tables'}")
    assert "MLP10" in text.partition('<section id="novel">')[2].partition("</section>")[0] and 'href="#novel"' in text


def test_what_it_needs_is_named(least, tmp_path):
    with pytest.raises(InputError, match=r"table1\.csv: run `dvc repro`"):
        run("page", f"reports={tmp_path / 'none'}", f"out={tmp_path}")
    with pytest.raises(InputError, match="genres=mlp99: choose from mlp1, "):
        least[1]("genres=[mlp1,mlp99]")


def test_the_contents_and_the_links_lead_somewhere(written):
    text = written.read_text(encoding="utf-8")
    links = {link for link in re.findall(r'href="([^"]+)"', text) if not link.startswith("data:")}
    assert re.findall(r'<section id="(\w+)"', text) == re.findall(r'href="#(\w+)"', text.partition("</nav>")[0])
    assert {link for link in links if link.startswith("http")} == {"https://www.jmlr.org/papers/v3/bengio03a.html"}
    assert all(f'id="{link[1:]}"' in text for link in links if link.startswith("#"))
    files = {link.partition("#")[0] for link in links if not link.startswith(("#", "http"))}
    assert {file for file in files if not (REPORTS / file).exists()} == set()


def test_each_claim_is_one_line_with_the_verdicts_of_each_training(written):
    shown = cells(written.read_text(encoding="utf-8"))
    (rows,) = [rows for title, rows in shown.items() if title.startswith("Claims of the papers")]
    for place, name in ((3, "published"), (5, "table1")):
        raw = pd.read_csv(REPORTS / "claims" / name / "claims.csv").query("evaluation == 'raw'")
        for says, lines in raw.groupby("says"):
            (row,) = [row for row in rows if row[0].partition(" (added")[0] == says]
            assert [cell.rpartition(", ")[2] for cell in row[place : place + 2]] == lines["holds"].tolist(), says


def test_a_long_table_can_be_unfolded_and_figures_have_colours():
    view = pd.DataFrame({"row": [f"<{n}>" for n in range(SHOWN + 1)], "ours|test": "1.0 ± 0.1 (0.9 to 1.1), yes"})
    long = render(view, "Title")
    assert '<div class="long">' in long and f"All {SHOWN + 1} rows" in long
    assert "details" not in render(view[1:], "Title") and render(view[:0], "Title") == ""
    assert long.count("var(--good)") == SHOWN + 1 and "1.0\u00a0±\u00a00.1 (0.9\u00a0to\u00a01.1), yes" in long
    assert long.count('scope="row"') == SHOWN + 1 and "&lt;3&gt;" in long
    coloured = render(view, "Title", off=pd.DataFrame({"ours|test": [0.25, -0.5]}))
    assert "--off: 0.250; --tone: var(--above)" in coloured and "--off: 0.500; --tone: var(--below)" in coloured


# What axe-core, rules of accessibility, finds on a screen, with all folds open; sizes in pixels of the screen; which
# training's table is shown; rows of the first long table that are shown, folded and unfolded.
LOOK = """
const [paper, done] = arguments, long = document.querySelector('.long');
const box = name => document.querySelector(name).getBoundingClientRect(), bottom = box('#first').bottom;
const shown = [1, 2].map(n => box(`.training-${n}`).height > 0);
const size = text => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a;
const text = Math.min(...[...document.querySelectorAll('figure text')].map(size).filter(size => size > 0));
const rows = () => [...long.querySelectorAll('tbody tr')].filter(row => row.offsetHeight).length, folded = rows();
document.querySelectorAll('details').forEach(fold => fold.open = true);
const right = Math.max(...[...document.querySelectorAll('table')].map(table => table.getBoundingClientRect().right));
const width = document.documentElement.scrollWidth, found = paper ? Promise.resolve({violations: []}) : axe.run();
found.then(found => done({bottom, shown, text, right, width, rows: [folded, rows()],
    violations: found.violations.map(rule => [rule.id, rule.nodes[0].html])}));
"""


@pytest.mark.thorough
def test_in_a_browser_it_is_accessible_quiet_and_fits(written, tmp_path):
    """On a desk, on a phone, in the dark and on paper (A4 less a margin of a centimetre)."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.binary_location, driver = shutil.which("chromium"), shutil.which("chromedriver")
    assert options.binary_location and driver, "needs chromium and chromedriver: Debian's chromium, chromium-driver"
    subprocess.run(["npm", "pack", "--silent", "axe-core@4.14.1"], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    shutil.unpack_archive(next(tmp_path.glob("axe-core-*.tgz")), tmp_path)
    with webdriver.Chrome(options, webdriver.ChromeService(driver)) as browser:
        browser.set_script_timeout(300)
        axe = (tmp_path / "package" / "axe.min.js").read_text(encoding="utf-8")
        browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": axe})
        for width, scheme, media in ((1280, "light", ""), (390, "dark", ""), (718, "dark", "print")):
            size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            features = [{"name": "prefers-color-scheme", "value": scheme}]
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})
            browser.get(written.as_uri())
            seen = browser.execute_async_script(LOOK, media)
            assert seen["violations"] == [] and seen["width"] <= width, (media or width, seen)
            assert seen["text"] >= (6 if media else 8), "the smallest text of a figure is legible"
            assert seen["bottom"] <= 900 or width < 1280, "the first window holds the answer, Table 1 and the caveats"
            assert seen["rows"][0] == SHOWN < seen["rows"][1] or media == "print", seen
            assert seen["shown"] == [True, media == "print"] and (seen["right"] <= width or media != "print"), seen
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
        browser.execute_script("document.querySelector('label[for=training-2]').click()")
        assert browser.execute_script("return document.querySelector('.training-2').offsetHeight") > 0
        assert browser.get_log("browser") == []
        events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    assert asked and all(url.startswith("data:") or url == written.as_uri() for url in asked)
