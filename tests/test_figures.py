"""Figures in prose are those of the reports.

A mark <!-- figures: NAME --> stands before the sentences that say the figures of FIGURES[NAME], or, as three words, of
a table, a model and what it is divided by, this ratio on test and on validation. Up to the next mark, or to the end of
the paragraph, these must stand there, in this order; the words around them are free.
"""

import re
from collections.abc import Iterable

import pandas as pd
import pytest
import yaml
from omegaconf import OmegaConf

from benchmarks import race
from pipeline.running.app import ROOT

PAGES = [ROOT / "README.md", ROOT / "docs" / "results.md"]
MARK = re.compile(r"<!-- figures: ([^>]+) -->(.*?)(?=<!-- figures|\n\n|\Z)", re.DOTALL)
MARKED = [
    pytest.param(name, text, id=f"{page.name} {name}")
    for page in PAGES
    for name, text in MARK.findall(page.read_text(encoding="utf-8"))
]
BOTH = "valid_raw, test_raw"
RATIOS = "valid_raw_ratio, test_raw_ratio"
ENDS = "valid_raw_ratio_low, valid_raw_ratio_high, test_raw_ratio_low, test_raw_ratio_high"


def read(file: str, rows: str) -> pd.DataFrame:
    """Rows of a table in reports/, as pandas.query names them."""
    return pd.read_csv(ROOT / "reports" / file).query(rows)


def written(value: float, form: str) -> str:
    """A figure as the text has it, .5 for 0.5. Another processor gives perplexities that differ by some .002 %, so near
    the middle of two it may be either: 14.1|14.2."""
    near = 0 if form == "d" else 0.1 * 10 ** -int(form[1])
    return "|".join(dict.fromkeys(re.sub(r"^0\.", ".", format(value + each, form)) for each in (-near, near)))


def cells(file: str, rows: str, values: str, form: str = ".1f") -> list[str]:
    """Of each row each value, an expression as pandas.eval takes it."""
    columns = [read(file, rows).eval(value) for value in values.split(", ")]
    return [written(cell, form) for line in zip(*columns, strict=True) for cell in line]


def of(file: str, names: str, values: str = BOTH) -> list[str]:
    """Of each of these models in turn."""
    return [cell for name in names.split() for cell in cells(file, f"name == '{name}'", values)]


def ratio(table: str, name: str, over: str, values: str = "test_raw_ratio, valid_raw_ratio") -> list[str]:
    return cells(f"{table}/{table}-ratios.csv", f"name == '{name}' and over == '{over}'", values, ".3f")


def claim(
    table: str, says: str, whose: str, form: str = ".1f", file: str = "claims", evaluation: str = "raw"
) -> list[str]:
    rows = f"evaluation == {evaluation!r} and says == {says!r}"
    return cells(f"claims/{table}/{file}.csv", rows, f"100 * {whose}", form)


def runs(model: str) -> pd.DataFrame:
    return read(f"benchmark/race_{model}.csv", "epochs >= 0")


def speed(column: int, who: str = ".*", form: str = ".2f") -> list[str]:
    """How many times the words a second of the others' fastest, of each shape."""
    found = (race.speeds(runs(model)).iloc[:, column] for model in race.SHAPES)
    return [format(each["ours"] / each.drop("ours").filter(regex=who).max(), form) for each in found]


def ends(model: str, *who: str) -> list[str]:
    """Validation perplexity, corrected for unseen words, each contestant at its best."""
    best = runs(model).groupby("who")["valid_corrected"].min()
    return [f"{best[each]:.1f}" for each in who]


def times(model: str, who: str) -> str:
    """How many times our machine-seconds to the best perplexity of a contestant."""
    of_theirs = runs(model).query("who == @who").set_index("valid_corrected")["times ours"]
    return f"{of_theirs.sort_index().iloc[0]:.2f}"


def at_most(parts: pd.Series) -> str:
    """The largest in per cent, rounded up."""
    return written(100 * parts.abs().max() + 0.05, ".1f")


def off(whose: str, rows: str) -> list[str]:
    """By how many per cent a training's rows of Table 1 are off the paper's figures, at most, on validation and test.

    rows: the beginning of their labels, as a regular expression.
    """
    table = pd.read_csv(ROOT / "reports" / "replication.csv")
    over = table[table["row"].str.match(rows) & table["paper_test"].notna()]
    return [at_most(over[f"{whose}_{split}_raw_over"] - 1) for split in ("valid", "test")]


TABLE2 = "the mixed network is better than the best n-gram"
large = yaml.safe_load((ROOT / "conf" / "models.yaml").read_text())["large"]
FIGURES = {
    "verdict": lambda: [
        *off("published", "MLP"),
        *off("published", "(?!MLP)"),
        written(100 * read("training.csv", "table == 'published'")["train_raw_over"].max() - 100, ".0f"),
    ],
    "streams": lambda: [
        at_most(read("streams/streams-perplexity.csv", f"name == {name!r}").filter(regex="kn.*_off").max())
        for name in ("lower case, words with a digit merged", "case kept")
    ],
    "cache": lambda: of("cache/cache.csv", "kn5-cached best-ngram-cached mlp1-cached lstm-cached"),
    "bars": lambda: of(
        "later/later.csv", "lstm everything everything-adapting transformer", "test_corrected, valid_corrected"
    ),
    "window": lambda: of(
        "window/window.csv",
        "residual residual-direct residual-direct-dynamic mlp1-dynamic",
        "valid_corrected, test_corrected",
    ),
    "window-pairs": lambda: [
        cell
        for says in (
            "twenty words and residual layers against the paper's network",
            "residual layers with direct connections against those without",
            "MLP1 by dynamic evaluation against without",
            "residual layers with direct connections by dynamic evaluation against without",
        )
        for cell in claim("window", says, "ours", file="exploratory")
    ],
    "comparisons": lambda: [
        cell
        for says in ("dynamic evaluation against a neural cache", "the Transformer against minGRU")
        for whose in ("ours", "low, 100 * high")
        for cell in claim("later", says, whose, file="exploratory")
    ],
    "table2-model": lambda: [large[key] for key in "nhm"],
    "table2": lambda: [
        *ratio("table2", "large-mixed", "interpolated3", RATIOS),
        *ratio("table2", "large-mixed", "kn5", RATIOS),
        *ratio("table2", "large-mixed", "kn5", ENDS),
    ],
    "table2-better": lambda: [*claim("table2", TABLE2, "ours"), *claim("table2", TABLE2, "paper")],
    "table2-best-ngram": lambda: ratio("table2", "large-mixed", "best-ngram-500", RATIOS),
    "repeats": lambda: [
        *ratio("table2-repeats", "large-mixed", "interpolated3", RATIOS),
        *ratio("table2-repeats", "large-mixed", "kn5", RATIOS),
    ],
    "table2-interval": lambda: ratio(
        "table2",
        "large-mixed",
        "kn5",
        ", ".join(f"{split}_raw_ratio_{end}" for split in ("test", "valid") for end in ("low", "high")),
    ),
    "speed": lambda: speed(0),
    "speed-alone": lambda: speed(1),
    "race-mlp1": lambda: [*ends("mlp1", "sparse_bfloat16", "sparse", "ours", "row_adam"), times("mlp1", "row_adam")],
    "race-mlp9": lambda: ends("mlp9", "adaptive", "sparse_bfloat16", "row_adam", "sparse", "ours"),
    "race-large": lambda: ends("large", "row_adam", "ours", "sparse_bfloat16", "sparse"),
    "race-full": lambda: speed(0, "full", ".0f"),
}


def pattern(figures: Iterable[object]) -> str:
    """Figures in this order, each as it stands, or as one of several with | between."""
    either = (re.escape(str(figure)).replace(r"\|", "|") for figure in figures)
    return ".*?".join(rf"(?<![\d.,])(?:{each})(?!\d|[.,]\d)" for each in either)


@pytest.mark.parametrize(("name", "text"), MARKED)
def test_figures_in_prose_are_the_reports(name, text):
    figures = FIGURES[name]() if name in FIGURES else ratio(*name.split())
    assert re.search(pattern(figures), text, re.DOTALL), f"{name}: {figures} are not there in this order:{text}"


def test_every_figure_stands_somewhere():
    assert {mark.values[0] for mark in MARKED} >= set(FIGURES)


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
