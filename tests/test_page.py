"""The report's page: whole, by itself, and readable where people read: in a browser, on a phone, in the dark."""

import html
import itertools
import json
import re
import shutil

import pandas as pd
import pytest
from conftest import run

from pipeline import page
from pipeline.config.tables import read_tables
from pipeline.core.common.errors import InputError
from pipeline.reporting import costs, figures, prose, style
from pipeline.running.app import ROOT
from pipeline.webpage import tables

REPORTS = ROOT / "reports"
EACH = [(split, evaluation) for split in ("valid", "test") for evaluation in ("raw", "corrected")]
COSTS = """table,stage,item,seconds,words_per_second,peak_memory_mb
table1,mix,mix-mlp1-mixed-0,6.0,,
table1,train,train-mlp1-0,600.0,9000.0,512.4
table1,train,train-mlp3-0,300.0,,300.0
table2,ngram,ngram-kn5,66.0,,2384.7
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The page of the committed reports."""
    out = tmp_path_factory.mktemp("page")
    run("page", f"reports={REPORTS}", f"out={out}")
    return out / "index.html"


@pytest.fixture
def least(tmp_path):
    """A folder with the reports that a page needs at least, and the page's text by what is in the folder."""
    for file in ("table1.csv", "table1.svg", "intervals.csv", "genres.csv"):
        shutil.copy2(REPORTS / file, tmp_path)

    def render(*words: str) -> str:
        run("page", f"reports={tmp_path}", f"out={tmp_path}", *words)
        return (tmp_path / "index.html").read_text(encoding="utf-8")

    return tmp_path, render


def section(text: str, name: str) -> str:
    """A section of the page."""
    return text.partition(f'<section id="{name}">')[2].partition("</section>")[0]


def cells(text: str) -> dict[str, list[list[str]]]:
    """Of each table by its title each row, as text."""
    rows = {}
    for title, body in re.findall(r'<table aria-label="(.*?)">.*?<tbody>(.*?)</tbody>', text, re.DOTALL):
        lines = [re.findall(r"<t[hd].*?>(.*?)</t[hd]>", line, re.DOTALL) for line in body.split("</tr>")[:-1]]
        rows[html.unescape(title)] = [[plain(cell) for cell in line] for line in lines]
    return rows


def plain(part: str) -> str:
    """A part of the page as text."""
    return " ".join(html.unescape(re.sub("<[^>]+>", " ", part)).split())


@pytest.fixture(scope="module")
def shown(written):
    """The tables of the page."""
    return cells(written.read_text(encoding="utf-8"))


def test_it_holds_every_row_of_every_table_and_asks_for_nothing_else(written, shown):
    text = html.unescape(written.read_text(encoding="utf-8"))
    for name, listed in read_tables(ROOT / "conf" / "table").items():
        if listed.csv and (REPORTS / listed.csv).is_file():
            for line in pd.read_csv(REPORTS / listed.csv, index_col="name").itertuples():
                label, figure = line.row.replace("the same", ""), f"{line.test_raw:.1f}"
                rows = [row for row in shown[listed.title] if label in row[0]]
                assert any(cell.startswith(figure) for row in rows for cell in row), (name, label)
    assert re.search(r"\*\*(.+?)\*\*", prose.between(ROOT / "README.md", "verdict"))[1] in text
    assert re.findall(r'<(?:script|link|img|iframe|object)\b[^>]*(?:src|href)="([^"]*)"', text) == ["data:,"]
    assert "@import" not in text and set(re.findall(r"url\((.)", text)) == {"#"}
    every = [cell for rows in shown.values() for row in rows for cell in row]
    assert len(every) > 2000 and not [cell for cell in every if re.fullmatch(r"nan|None|<NA>", cell)]


def test_the_committed_page_is_that_of_the_committed_reports(written):
    """And of the verdict in the README, of which DVC does not know. Another machine may draw a figure otherwise."""
    ours, committed = (file.read_text(encoding="utf-8") for file in (written, REPORTS / "index.html"))
    assert re.sub("<svg.*?</svg>", "", ours, flags=re.DOTALL) == re.sub("<svg.*?</svg>", "", committed, flags=re.DOTALL)


def test_what_is_not_there_is_left_out(least):
    """What comes with other commands than `make repro`, and the interval of a row that has none."""
    folder, render = least
    pd.read_csv(folder / "intervals.csv").query("name != 'mlp9'").to_csv(folder / "intervals.csv", index=False)
    text = render()
    assert re.findall(r'<section id="(\w+)"', text) == ["first", "table", "curves", "genres", "again"]
    (row,) = [row for row in cells(text)["Table 1, modern training"] if row[0].startswith("MLP9 ")]
    assert text.count("<figure") == 4 and row[-1] == "" and not re.search(r"\bnan\b", " ".join(row))


def test_the_best_row_is_that_of_validation(least):
    folder, render = least
    rows = pd.read_csv(folder / "table1.csv", index_col="name")
    rows.loc["mlp9", "test_raw"] = 1
    rows.to_csv(folder / "table1.csv")
    assert "MLP2 has a raw validation perplexity" in plain(render())


def test_what_it_needs_is_named(least, tmp_path):
    """The command that makes a table, and the choices of a model."""
    with pytest.raises(InputError, match=r"table1\.csv: run `dvc repro`"):
        run("page", f"reports={tmp_path / 'none'}", f"out={tmp_path}")
    with pytest.raises(InputError, match="genres=mlp99: choose from mlp1, "):
        least[1]("genres=[mlp1,mlp99]")
    with pytest.raises(InputError, match=r"best_ngram=kn5-backoff: choose from .*class500-3"):
        least[1]("best_ngram=kn5-backoff")


def test_a_table_of_ones_own_stands_there_by_its_file_in_conf_alone(least, tmp_path):
    """Title and place in its conf/table/<name>.yaml; no list of tables stands anywhere else."""
    folder, render = least
    shutil.copytree(ROOT / "conf" / "table", tmp_path / "tables")
    own = (ROOT / "conf" / "table" / "table1.yaml").read_text().replace("table1.csv", "novel/novel.csv")
    own = own.replace("Table 1, modern training", "A novel").replace("section: table", "section: novel")
    (tmp_path / "tables" / "novel.yaml").write_text(own)
    (folder / "novel").mkdir()
    shutil.copy2(folder / "table1.csv", folder / "novel" / "novel.csv")
    shutil.copy2(folder / "intervals.csv", folder / "novel")
    text = render(f"tables={tmp_path / 'tables'}")
    assert "<h2>A novel</h2>" in text and "MLP10" in section(text, "novel") and 'href="#novel">A novel' in text


def test_what_each_split_holds_is_computed():
    """The share of imaginative prose in each, and a model's perplexity over all tokens of that and of the rest."""
    lines = [("train", "news", 100, 50.0), ("valid", "news", 100, 100.0), ("valid", "fiction", 100, 200.0)]
    lines += [("valid", "mystery", 200, 400.0), ("test", "humor", 50, 300.0)]
    genres = pd.DataFrame(lines, columns=["split", "genre", "tokens", "mlp1"])
    parts = page.splits(genres, ["fiction", "mystery", "humor"], "mlp1")
    assert [parts[split]["share"] for split in ("train", "valid", "test")] == [0, 0.75, 1]
    assert parts["valid"]["rest"] == pytest.approx(100)
    assert parts["valid"]["stories"] == pytest.approx((200 * 400 * 400) ** (1 / 3))
    assert parts["train"]["stories"] is None and parts["test"]["rest"] is None


def test_the_contents_and_the_links_lead_somewhere(written):
    """Within the page, and to files of the repository; every CSV file is in the list at the top."""
    text = written.read_text(encoding="utf-8")
    links = re.findall(r'<a href="([^"]+)"', text)
    contents = text[text.index("<nav") : text.index("</nav>")]
    assert re.findall(r'<section id="(\w+)"', text) == re.findall(r'href="#(\w+)"', contents)
    assert {link for link in links if link.startswith("http")} == {"https://www.jmlr.org/papers/v3/bengio03a.html"}
    assert all(f'id="{link[1:]}"' in text for link in links if link.startswith("#"))
    assert all((REPORTS / file).is_file() for file in links if not file.startswith(("#", "http")))
    listed = set(re.findall(r'href="([^"]+\.csv)"', text[: text.index("</header>")]))
    assert listed == {file.relative_to(REPORTS).as_posix() for file in REPORTS.rglob("*.csv")}


def test_every_long_table_is_folded_but_the_first_which_is_the_result(written, shown):
    text = written.read_text(encoding="utf-8")
    assert "<details open" not in text and text.count("<details") == text.count("</details")
    for title in (title for title, rows in shown.items() if len(rows) >= page.LONG):
        before = text.partition(f'<table aria-label="{html.escape(title, quote=True)}"'.replace("&#x27;", "&#39;"))[0]
        folds = before.count("<details") - before.count("</details")
        assert folds == (title != "Table 1 of the paper, validation / test perplexity"), title


def test_the_claims_and_their_totals_are_those_of_the_files(written, shown):
    """Both splits and both evaluations, and what learning curves decide; each claim is there in words."""
    text = written.read_text(encoding="utf-8")
    totals = {row[0]: row[1:] for row in shown["Claims of the papers: how many hold, of how many"]}
    for name, listed in read_tables(ROOT / "conf" / "table").items():
        files = [REPORTS / "claims" / name / f"{kind}.csv" for kind in ("claims", "curves")]
        if not files[0].is_file():
            continue
        claims = pd.read_csv(files[0])
        judged = [claims[claims["split"].eq(split) & claims["evaluation"].eq(evaluation)] for split, evaluation in EACH]
        judged += [pd.read_csv(file) for file in files[1:] if file.is_file()]
        counts = []
        for verdicts in (part["holds"].tolist() for part in judged):
            still_open = f", {verdicts.count('open')} open" if "open" in verdicts else ""
            counts.append(f"{verdicts.count('yes')} of {len(verdicts)}{still_open}")
        (row,) = [row for title, row in totals.items() if re.fullmatch(rf"{listed.title}, (one|\d) seeds?", title)]
        assert [cell for cell in row if cell] == counts, name
        part = plain(text.partition(f'<details id="claims-{name}">')[2])
        assert all(says in part for says in claims["says"])


def test_rows_are_called_as_the_paper_calls_them(written):
    """MLP1, not mlp1; but in code, which one types, and where a row has no label of its own."""
    text = written.read_text(encoding="utf-8")
    shown = re.sub(r"<(code|pre|style|script|a)\b.*?</\1>|<[^>]+>", " ", text, flags=re.DOTALL)
    names = re.findall(r"\S*\b(?:mlp\d|kn\d|class\d|cycling\d|direct\d|large-)\S*", shown)
    assert "MLP10" in shown and not [name for name in names if not re.search("-learned$|-literal", name)]


def test_labels_say_which_model_is_meant():
    """`the same` is the one whose name it continues, else the one before. Names in code and in other words stay."""
    labels = {"svd": "direct, SVD", "nips": "the same, mixed", "cycling5": "cycling, 5", "cycling8": "cycling, 8"}
    whole = tables.spelt_out(pd.Series(labels | {"cycling5-short": "the same, scoring few words"}))
    assert whole["nips"] == "direct, SVD, mixed" and whole["cycling5-short"] == "cycling, 5, scoring few words"
    called = {"mlp1": "MLP1", "mlp1-mixed": "MLP2", "linear": "linear"}
    text = "mlp1: `train@mlp1-0`, step, mlp1-mixed; reports/mlp1.csv, mlp12, mlp1-learned"
    assert tables.renamed(text, called) == "MLP1: `train@mlp1-0`, step, MLP2; reports/mlp1.csv, mlp12, mlp1-learned"


def test_costs_are_gathered_from_what_ran_here_and_have_a_line_a_stage_of_each_table(least, tmp_path):
    """Of what did not run here, the line that was there is kept."""
    folder, render = least
    (folder / "costs.csv").write_text(COSTS)
    (tmp_path / "timings" / "table1").mkdir(parents=True)
    spent = {"stage": "train", "name": "mlp1", "seed": 0, "seconds": 600.04, "words_per_second": 18000, "cores": 2}
    (tmp_path / "timings" / "table1" / "train-mlp1-0.json").write_text(json.dumps(spent))
    gathered = costs.gather(tmp_path / "timings", folder / "costs.csv")
    assert gathered.set_index("item").loc["train-mlp1-0", ["seconds", "words_per_second"]].tolist() == [600.0, 18000]
    gathered.to_csv(folder / "costs.csv", index=False)
    text = render()
    expected = ["train", "Table 1, modern training", "2", "900", "MLP1, seed 0", "600", "512"]
    assert expected in cells(text)["Cost by stage"] and "together took 15 minutes" in plain(text)


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


def test_every_colour_of_text_stands_out_from_the_ground(written):
    """WCAG's contrast of 4.5 to 1, in the light and in the dark."""

    def luminance(colour: str) -> float:
        digits = colour if len(colour) == 6 else "".join(2 * digit for digit in colour)
        parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    schemes = re.findall(r":root \{(.*?)\}", written.read_text(encoding="utf-8"))
    assert len(schemes) == 2
    for scheme in schemes:
        colours = {name: luminance(colour) for name, colour in re.findall(r"--(\w+): #(\w+)", scheme)}
        for name in ("ink", "soft", "good", "bad"):
            dark, light = sorted((colours["ground"], colours[name]))
            assert (light + 0.05) / (dark + 0.05) >= 4.5, name


@pytest.fixture(scope="module")
def browser():
    """Chromium; `look` below says what it shows of a page."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    assert binary and driver, "this test needs chromium and chromedriver: Debian's packages chromium, chromium-driver"
    options.binary_location = binary
    browser = webdriver.Chrome(options, webdriver.ChromeService(driver))
    yield browser
    browser.quit()


# Of each figure its box, its marks and, in pixels of the screen, the font size of its smallest text.
LOOK = """
const style = getComputedStyle(document.documentElement);
const size = text => { const to = text.getScreenCTM();
                       return parseFloat(getComputedStyle(text).fontSize) * Math.hypot(to.a, to.b); };
return {width: document.documentElement.scrollWidth,
        figures: [...document.querySelectorAll('figure svg')].map(svg => ({
            width: svg.getBoundingClientRect().width, height: svg.getBoundingClientRect().height,
            marks: svg.querySelectorAll('path, use, text').length,
            text: Math.min(...[...svg.querySelectorAll('text')].map(size))})),
        ground: style.getPropertyValue('--ground').trim(),
        overflow: [...document.querySelectorAll('.wide')].map(box => getComputedStyle(box).overflowX),
        right: Math.max(...[...document.querySelectorAll('table, figure svg')].map(
            each => each.getBoundingClientRect().right)),
        shades: [...document.querySelectorAll('td.shade, td.above')].map(cell => {
            const shown = getComputedStyle(cell);
            return [shown.printColorAdjust || shown.webkitPrintColorAdjust, shown.backgroundColor]; })};
"""


def look(browser, file, width, scheme="light", media="screen", height=800):
    """What LOOK finds on the page at a width, as a phone's where that is narrow."""
    from selenium.webdriver.support.wait import WebDriverWait

    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})
    browser.get(file.as_uri())
    # On a busy machine `get` has come back from a page that was not all there.
    WebDriverWait(browser, 30).until(lambda _: browser.execute_script("return document.readyState") == "complete")
    return browser.execute_script(LOOK)


@pytest.mark.thorough
def test_in_a_browser_it_is_whole_and_quiet(browser, written):
    """No console error, no request that leaves the page, every figure drawn, named and legible, no sideways scrolling
    of the page on a phone."""
    for kind in ("browser", "performance"):
        browser.get_log(kind)  # of other tests
    seen = {}
    for name, width, scheme in (("desk", 1280, "light"), ("phone", 375, "dark")):
        seen[name] = look(browser, written, width, scheme)
        figures = seen[name]["figures"]
        assert seen[name]["width"] <= width, name
        assert len(figures) == written.read_text().count("<figure")
        assert all(each["width"] > 200 and each["height"] > 100 and each["marks"] > 10 for each in figures), name
        assert all(each["text"] >= 8 for each in figures), [each["text"] for each in figures]
    assert seen["desk"]["ground"] != seen["phone"]["ground"]
    for drawn in browser.find_elements("tag name", "figure"):
        svg, caption = (drawn.find_element("tag name", name) for name in ("svg", "figcaption"))
        assert svg.aria_role in ("img", "image") and svg.accessible_name == caption.text != ""
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    assert asked and all(url.startswith("data:") or url == written.as_uri() for url in asked)


@pytest.mark.thorough
def test_on_paper_nothing_is_cut_off_and_the_shades_stay(browser, written):
    """718 pixels: A4 less a margin of a centimetre. Whoever reads in the dark prints on white all the same."""
    seen = look(browser, written, 718, "dark", "print")
    assert set(seen["overflow"]) == {"visible"} and seen["right"] <= 718
    assert {adjust for adjust, _ in seen["shades"]} == {"exact"}
    assert all(ground != "rgba(0, 0, 0, 0)" for _, ground in seen["shades"])
    assert len(seen["shades"]) == written.read_text(encoding="utf-8").count('style="--below: ') >= 21
    assert seen["ground"] == "#fff"


BOX = "const box = document.querySelector(arguments[0]).getBoundingClientRect(); return [box.top, box.bottom];"
# With every fold open, of each box that is narrower than its table or figure, scrolled to its end: how far the first
# cell of each row is from the left edge, whether figures shine through it, and how much is left for the figures.
SCROLLED = """
document.querySelectorAll('details').forEach(fold => fold.open = true);
return [...document.querySelectorAll('.wide')].filter(box => box.scrollWidth > box.clientWidth).map(box => {
    box.scrollLeft = box.scrollWidth;
    const edge = box.getBoundingClientRect(), heads = [...box.querySelectorAll('tr')].map(row => row.cells[0]);
    return {off: Math.max(0, ...heads.map(head => Math.abs(head.getBoundingClientRect().left - edge.left))),
            ground: heads.every(head => getComputedStyle(head).backgroundColor !== 'rgba(0, 0, 0, 0)'),
            left: Math.min(...heads.map(head => edge.right - head.getBoundingClientRect().right), 999)};
});
"""


@pytest.mark.thorough
@pytest.mark.parametrize("width", [1280, 390])
def test_it_fits_the_window(browser, written, width):
    """A wide window first shows the answer in words and the table. The contents stay at the top. On a phone tables and
    figures scroll in boxes of their own, and the names of the rows stay."""
    look(browser, written, width, height=900)
    assert width == 390 or browser.execute_script(BOX, ".totals table")[1] <= 900
    browser.execute_script("document.querySelector('nav a[href=\"#words\"]').click()")
    (top, bottom), (section, _) = (browser.execute_script(BOX, each) for each in ("nav", "#words"))
    assert top == 0 and bottom <= section < 200
    boxes = browser.execute_script(SCROLLED)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert not boxes if width == 1280 else len(boxes) > 10
    assert all(box["off"] < 1 and box["ground"] and box["left"] > 150 for box in boxes), boxes


# A click on the head of a column of the table that has a title; what its cells show then.
SORT = """
const table = [...document.querySelectorAll('table')].find(each => each.ariaLabel.startsWith(arguments[0]));
const head = [...table.tHead.rows[0].cells].find(each => each.textContent === arguments[1]);
head.querySelector('button').click();
return {order: head.ariaSort, others: [...head.parentNode.cells].filter(each => each.ariaSort).length,
        cells: [...table.tBodies[0].rows].map(row => row.cells[head.cellIndex].textContent.trim())};
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("table", "column", "first", "last"),
    [
        ("Table 1, modern", "test", "233.1 ± ", "352.5"),  # numbers, with a spread and an interval behind them
        ("Raw perplexity in each genre", "tokens", "1,472", "174,576"),
        ("Table 1, modern", "training, paper", "31", "210"),  # some are empty
        ("Table 1, modern", "row", "best n-gram", "MLP10 "),  # words
    ],
)
def test_a_click_sorts_a_table_by_a_column(browser, written, table, column, first, last):
    """Up, then down; what is empty comes last both times."""
    look(browser, written, 1280)
    up = browser.execute_script(SORT, table, column)
    down = browser.execute_script(SORT, table, column)
    assert (up["order"], down["order"], up["others"], down["others"]) == ("ascending", "descending", 1, 1)
    assert len(up["cells"]) > 15 and sorted(up["cells"]) == sorted(down["cells"])
    assert all(seen["cells"] == [*filter(None, seen["cells"]), *[""] * seen["cells"].count("")] for seen in (up, down))
    assert up["cells"][0].startswith(first) and down["cells"][0].startswith(last)
