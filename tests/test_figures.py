"""Figures in prose are those of the reports.

A mark <!-- figures: NAME --> stands on a line of its own before the sentences or the table with the figures of
FIGURES[NAME]. Up to the end of the paragraph these must stand there, in this order; the words around them are free.
"""

import re
from collections.abc import Iterable

import pandas as pd
import pytest
from omegaconf import OmegaConf

from benchmarks import race
from pipeline.running.app import ROOT

PAGES = [ROOT / "README.md", ROOT / "docs" / "results.md"]
MARK = re.compile(r"^<!-- figures: ([^>]+) -->\n(.*?)(?=\n\n|\Z)", re.DOTALL | re.MULTILINE)
MARKED = [
    pytest.param(name, text, id=f"{page.name} {name}")
    for page in PAGES
    for name, text in MARK.findall(page.read_text(encoding="utf-8"))
]
RATIOS = "valid_raw_ratio, test_raw_ratio"
PRINTED = "paper_valid_ratio, paper_test_ratio"


def read(file: str, rows: str) -> pd.DataFrame:
    """Rows of a table in reports/, as pandas.query names them."""
    return pd.read_csv(ROOT / "reports" / file).query(rows)


def written(value: float, form: str) -> str:
    """A figure as the text has it. Another processor gives perplexities that differ by some .002 %, so near
    the middle of two it may be either: 14.1|14.2."""
    near = 0.1 * 10 ** -int(form[1])
    return "|".join(dict.fromkeys(format(value + each, form) for each in (-near, near)))


def cells(file: str, rows: str, values: str, form: str = ".1f") -> list[str]:
    """Of each row each value, an expression as pandas.eval takes it."""
    columns = [read(file, rows).eval(value) for value in values.split(", ")]
    return [written(cell, form) for line in zip(*columns, strict=True) for cell in line]


def ratio(table: str, name: str, over: str) -> list[str]:
    return cells(f"{table}/{table}-ratios.csv", f"name == '{name}' and over == '{over}'", RATIOS, ".3f")


def claim(table: str, says: str, whose: str) -> list[str]:
    """In per cent, on validation and on test."""
    return cells(f"claims/{table}/claims.csv", f"evaluation == 'raw' and says == {says!r}", f"100 * {whose}")


def runs(model: str) -> pd.DataFrame:
    return read(f"benchmark/race_{model}.csv", "epochs >= 0")


def speed(column: int, who: str = ".*", form: str = ".2f") -> list[str]:
    """How many times the words a second of the others' fastest, of each shape."""
    found = (race.speeds(runs(model)).iloc[:, column] for model in race.SHAPES)
    return [format(each["ours"] / each.drop("ours").filter(regex=who).max(), form) for each in found]


def end(model: str, who: str) -> list[str]:
    """Validation perplexity, corrected for unseen words, of a contestant at its best; nothing where it did not run."""
    best = runs(model).query("who == @who")["valid_corrected"].min()
    return [] if pd.isna(best) else [written(best, ".1f")]


def off(whose: str, rows: str) -> list[str]:
    """By how many per cent a training's rows of Table 1 are below and above the paper's figures at most: on
    validation, then on test.

    rows: the beginning of their labels, as a regular expression.
    """
    table = pd.read_csv(ROOT / "reports" / "replication.csv")
    over = table[table["row"].str.match(rows) & table["paper_test"].notna()]
    parts = [over[f"{whose}_{split}_raw_over"] - 1 for split in ("valid", "test")]
    return [written(100 * end, ".1f") for part in parts for end in (-part.min(), part.max())]


def ends(file: str, rows: str, split: str) -> list[str]:
    """By how many per cent, without a sign, the least and the greatest of some rows differ from the paper's figures."""
    table = read(file, rows)
    over = 100 * (table[f"{split}_raw"] / table[f"paper_{split}"] - 1)
    return [written(abs(end), ".1f") for end in (over.min(), over.max())]


def over_interpolated() -> list[str]:
    """MLP10's gain by published settings over the best interpolated n-gram by validation, on validation and test."""
    forms = read("published/extra.csv", "name.str.endswith('-interpolated')")
    best = forms.loc[forms["valid_raw"].idxmin()]
    mixed = read("published/published.csv", "name == 'mlp9-mixed'").iloc[0]
    return [written(100 * (best[f"{split}_raw"] / mixed[f"{split}_raw"] - 1), ".1f") for split in ("valid", "test")]


def best(rows: str, column: str) -> str:
    """The row of Table 1 with the lowest figure in a column, of those whose labels begin as `rows` says."""
    table = read("replication.csv", "paper_test.notna()")
    part = table[table["row"].str.match(rows)]
    line = part.loc[part[column].idxmin()]
    return {"K": f"Kneser-Ney {line['n']}", "c": f"{line['c']:.0f} classes"}.get(line["row"][0], line["row"])


DIGITS = "words with a digit merged"
STREAM = f"lower case, {DIGITS}"
KN = ["kn3-srilm_off", "kn5-srilm_off"]
TABLE2 = "the mixed network is better than the best n-gram"
FIGURES = {
    "verdict": lambda: [
        *off("published", "MLP"),
        *(
            written(100 * abs(end - 1), ".0f")
            for end in read("training.csv", "table == 'published'")["train_raw_over"].agg(["min", "max"])
        ),
    ],
    "best": lambda: [
        *(best("MLP", f"{whose}_valid_raw") for whose in ("published", "modern")),
        best("Kneser-Ney|class", "published_valid_raw"),
        *(best(rows, "paper_valid") for rows in ("MLP", "Kneser-Ney|class")),
    ],
    "caveats": lambda: [
        *ends("published10/published10.csv", "direct == True", "valid"),
        *(
            f"{count:,.0f}"
            for name in ("the paper", STREAM, f"case kept, {DIGITS}")
            for count in read("streams/streams.csv", f"name == {name!r}")[["types", "vocabulary"]].iloc[0]
        ),
        *cells("cased-published/cased-published.csv", "name == 'mlp1'", "100 * (valid_raw / paper_valid - 1)"),
        *over_interpolated(),
    ],
    "n-grams": lambda: [
        *off("published", "(?!MLP)"),
        *over_interpolated(),
        *(
            cell
            for name in ("best-ngram", "mlp9-learned", "mlp9-with-best-ngram")
            for cell in cells("published/extra.csv", f"name == {name!r}", "valid_raw, test_raw")
        ),
    ],
    "cite": lambda: [
        *cells("published/published.csv", "name == 'mlp9-mixed'", "valid_raw, test_raw"),
        *cells("published/published.csv", "name == 'mlp9-mixed'", "paper_valid, paper_test", ".0f"),
    ],
    "streams": lambda: (
        [
            written(100 * read("streams/streams-perplexity.csv", f"name == {name!r}")[KN].to_numpy().max(), ".1f")
            for name in (STREAM, "case kept")
        ]
        + [
            end
            for split in ("valid", "test")
            for end in ends("cased-published/cased-published.csv", "model == 'network'", split)
        ]
    ),
    "lower-case": lambda: [
        written(100 * abs(lowered[f"{split}_change"].agg(end)), ".1f")
        for lowered in [read("controls.csv", "change == 'lower case, published settings'")]
        for split, end in (("valid", "max"), ("valid", "min"), ("test", "min"))
    ],
    "bars": lambda: [
        cell
        for name in ("lstm", "everything", "everything-adapting", "transformer")
        for cell in cells("later/later.csv", f"name == {name!r}", "test_corrected, valid_corrected")
    ],
    "training": lambda: [
        cell
        for table, values in (
            ("published", "paper_train"),
            ("published", "train_raw"),
            ("published", "train_running"),
            ("published10", "train_raw"),
            ("table1", "train_raw"),
        )
        for cell in cells("training.csv", f"table == {table!r}", values, ".0f" if values == "paper_train" else ".1f")
    ],
    "no-decay": lambda: [
        f"{100 * (running / printed - 1):+.1f}"
        for name in ("mlp3", "mlp5", "mlp7")
        for running in read("searches/published-others.csv", f"model == {name!r}")["train_running"]
        for printed in read("published/published.csv", f"name == {name!r}")["paper_train"]
    ],
    "table2-ratios": lambda: [
        *cells("table2/table2-ratios.csv", "name == 'large-mixed' and over == 'interpolated3'", PRINTED, ".3f"),
        *cells("table2/table2-ratios.csv", "name == 'large-mixed' and over == 'kn5'", PRINTED, ".3f"),
        *(
            cell
            for name in ("large-mixed", "large", "large-with-kn5")
            for over in ("interpolated3", "kn5", "kn5-srilm", "best-ngram-500")
            for cell in ratio("table2", name, over)
        ),
        *(cell for over in ("interpolated3", "kn5") for cell in ratio("table2-repeats", "large-mixed", over)),
    ],
    "table2-better": lambda: [*claim("table2", TABLE2, "ours"), *claim("table2", TABLE2, "paper")],
    "speed": lambda: [
        *speed(0),
        *speed(1),
        *speed(0, "full", ".0f"),
        *(
            cell
            for who in ("ours", "row_adam", "sparse_bfloat16", "sparse", "adaptive")
            for model in race.SHAPES
            for cell in end(model, who)
        ),
    ],
}


def pattern(figures: Iterable[object]) -> str:
    """Figures in this order, each as it stands, or as one of several with | between."""
    either = (re.escape(str(figure)).replace(r"\|", "|") for figure in figures)
    return ".*?".join(rf"(?<![\d.,])(?:{each})(?!\d|[.,]\d)" for each in either)


@pytest.mark.parametrize(("name", "text"), MARKED)
def test_figures_in_prose_are_the_reports(name, text):
    figures = FIGURES[name]()
    assert re.search(pattern(figures), text, re.DOTALL), f"{name}: {figures} are not there in this order:{text}"


def test_every_figure_stands_somewhere():
    """And every mark on a line of its own, where it is read."""
    assert {mark.values[0] for mark in MARKED} == set(FIGURES)
    assert sum(page.read_text(encoding="utf-8").count("<!-- figures") for page in PAGES) == len(MARKED)


def test_a_wrong_figure_is_noticed():
    """Another one, the same in another order, and one that only begins alike."""
    assert re.search(pattern(["0.9", 12]), "of 10.9, 0.9 and 12.")
    assert re.search(pattern([written(14.149, ".1f")]), "of 14.2 %")
    assert not re.search(pattern([written(14.13, ".1f")]), "of 14.2 %")
    for text in ("of 0.8 and 12", "of 12 and 0.9", "of 0.9 and 12.5", "of 10.9 and 12"):
        assert not re.search(pattern(["0.9", 12]), text)


KEYS = re.compile(
    r"^\|[^|]+\| ((?:`\w+`(?:, )?)+) \| ([^|]+) \|", re.MULTILINE
)  # of the table of the paper's sentences


def test_the_keys_beside_the_papers_sentences_have_the_recipes_values():
    text = (
        (ROOT / "docs" / "results.md")
        .read_text(encoding="utf-8")
        .partition("## Which settings trained the networks?")[2]
    )
    recipe = OmegaConf.load(ROOT / "conf" / "recipe" / "paper.yaml")
    lines = [(re.findall(r"\w+", keys), values.replace("`", "").split(", ")) for keys, values in KEYS.findall(text)]
    said = {key: value for keys, values in lines for key, value in zip(keys, values, strict=True)}
    assert len(said) > 12
    for key, value in said.items():
        assert OmegaConf.create(f"a: {value}").a == recipe[key], key
