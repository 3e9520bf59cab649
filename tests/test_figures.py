"""Figures in prose are those of the reports.

A mark <!-- figures: NAME --> stands before the sentences that say the figures of FIGURES[NAME], or, as three words, of
a table, a model and what it is divided by, this ratio on test and on validation. Up to the next mark, or to the end of
the paragraph, these must stand there, in this order; the words around them are free.
"""

import re
from collections.abc import Iterable

import numpy as np
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


def ratio(table: str, name: str, over: str, values: str = "test_raw, valid_raw") -> list[str]:
    return cells(f"{table}/{table}-ratios.csv", f"name == '{name}' and over == '{over}'", values, ".3f")


def claim(
    table: str, says: str, whose: str, form: str = ".1f", file: str = "claims", reading: str = "raw"
) -> list[str]:
    rows = f"reading == {reading!r} and says == {says!r}"
    return cells(f"claims/{table}/{file}.csv", rows, f"100 * {whose}", form)


def tables(name: str) -> pd.DataFrame:
    """A table of networks with the models below it."""
    folder = ROOT / "reports" / ("" if name == "table1" else name)
    return pd.concat(pd.read_csv(folder / f"{file}.csv", index_col="name") for file in (name, "extra"))


def reached(table: str, over: str = "kn5", values: str = "valid, test", reading: str = "raw") -> list[str]:
    """How many networks and mixtures are at or below the paper's ratio: on validation, on test, on both."""
    rows = f"table == {table!r} and over == {over!r} and reading == {reading!r}"
    return cells("yardsticks.csv", rows, values, "d")


def beaten(whose: str) -> int:
    """How many networks and mixtures the best mixture of n-grams is better than, on both splits."""
    table = pd.read_csv(ROOT / "reports" / "replication.csv", index_col="name")
    columns = [f"{whose}_{split}_ratio" for split in ("valid", "test")]
    better = table[table["row"].str.startswith("MLP")][columns] > table.loc["best-ngram", columns]
    return int(better.all(axis=1).sum())


def over(name: str, other: str, column: str) -> list[str]:
    """A model's figures over another's in Table 1, of validation and test."""
    table = tables("table1")
    columns = [column.format(split) for split in ("valid", "test")]
    return [written(table.loc[name, each] / table.loc[other, each], ".3f") for each in columns]


def gains(name: str, ending: str = "_raw") -> list[str]:
    """By how many per cent mixing with the trigram makes networks better, from and to."""
    table = tables(name)[[f"valid{ending}", f"test{ending}"]]
    networks = ["mlp1", "mlp3", "mlp5", "mlp7", "mlp9"]
    gained = 100 * (table.loc[networks].to_numpy() / table.loc[[f"{each}-mixed" for each in networks]].to_numpy() - 1)
    return [written(end, ".1f") for end in (gained.min(), gained.max())]


def behind(name: str) -> list[str]:
    """By how many per cent networks and mixtures are above those of today's recipe, from and to, on each split."""
    ours = tables("table1").query("row.str.match('MLP')", engine="python")[["valid_raw", "test_raw"]]
    above = 100 * (tables(name).loc[ours.index, ours.columns] / ours - 1)
    return [written(end, ".1f") for split in above for end in (above[split].min(), above[split].max())]


def runs(model: str) -> pd.DataFrame:
    return read(f"benchmark/race_{model}.csv", "epochs >= 0")


def speed(column: int, who: str = ".*", form: str = ".2f") -> list[str]:
    """How many times the words a second of the others' fastest, of each shape."""
    found = (race.speeds(runs(model)).iloc[:, column] for model in race.SHAPES)
    return [format(each["ours"] / each.drop("ours").filter(regex=who).max(), form) for each in found]


def ends(model: str, *who: str) -> list[str]:
    """Validation perplexity with share, each contestant at its best."""
    best = runs(model).groupby("who")["with share"].min()
    return [f"{best[each]:.1f}" for each in who]


def times(model: str, who: str) -> str:
    """How many times our machine-seconds to the best perplexity of a contestant."""
    of_theirs = runs(model).query("who == @who").set_index("with share")["times ours"]
    return f"{of_theirs.sort_index().iloc[0]:.2f}"


def off(table: str, split: str) -> str:
    """By how many per cent a training's networks are off the paper's figures, over the trigrams', at most."""
    return at_most(np.expm1(read("distance.csv", f"table == {table!r}")[f"{split}_log"]))


def ratios_off(whose: str) -> list[str]:
    """By how many per cent the networks' and mixtures' ratios to Kneser-Ney 5 are off the paper's, at most."""
    table = pd.read_csv(ROOT / "reports" / "replication.csv").query("row.str.startswith('MLP')")
    off = (table[f"{whose}_{split}_ratio"] / table[f"paper_{split}_ratio"] - 1 for split in ("valid", "test"))
    return [at_most(each) for each in off]


def at_most(parts: pd.Series) -> str:
    """The largest in per cent, rounded up."""
    return written(100 * parts.abs().max() + 0.05, ".1f")


def as_printed(*networks: str) -> list[str]:
    """Running training perplexity of networks as printed in their last epoch, and the paper's on our stream."""
    table, curves = tables("table1"), read("faithful/curves.csv", "seed == 0").groupby("name").last()
    trigram = table.loc["interpolated3"]
    scale = trigram["valid_raw"] / trigram["paper_valid"]
    ours = [curves.loc[name, "train_perplexity"] for name in networks]
    return [written(each, ".0f") for each in (*ours, *(scale * table.loc[name, "paper_train"] for name in networks))]


HEADLINE = "the best network is far better than the best n-gram"
TABLE2 = "the mixed network is better than the best n-gram"
large = yaml.safe_load((ROOT / "conf" / "models.yaml").read_text())["large"]
FIGURES = {
    "longer-reached": lambda: [*reached("faithful20"), *reached("faithful")],
    "longer-distance": lambda: [
        cell
        for table in ("faithful20", "faithful", "closest")
        for cell in cells("distance.csv", f"table == '{table}' and row == 'MLP1'", "distance", ".2f")
    ],
    "closest-full": lambda: reached("closest-full", values="valid, test, both"),
    "as-printed": lambda: [
        *as_printed("mlp5", "mlp9"),
        *reached("faithful"),
    ],
    "closest": lambda: [off("closest", "valid"), off("closest", "train")],
    "closest-ratios": lambda: ratios_off("closest"),
    "closest-reached": lambda: reached("closest", values="valid, test, both"),
    "ascent": lambda: [*behind("ascent"), *of("ascent/ascent.csv", "mlp9"), *of("table1.csv", "mlp9")],
    "ascent-reached": lambda: reached("ascent"),
    "ascent-behind": lambda: behind("ascent"),
    "closest-behind": lambda: behind("closest"),
    "text-order": lambda: [
        cell
        for name in ("mlp5", "mlp9")
        for cell in (*of("faithful/extra.csv", f"{name}-literal"), *of("faithful/faithful.csv", name))
    ],
    "recipe": lambda: reached("table1"),
    "share": lambda: cells(
        "replication.csv", "name in ('mlp1', 'class500-3')", "100 * (1 - recipe_test_share / recipe_test)", ".0f"
    ),
    "headline-with-share": lambda: [
        *claim("table1", f"{HEADLINE}, by each reading", "ours", reading="with share"),
        *claim("table1", HEADLINE, "ours"),
    ],
    "closest-headline": lambda: [*claim("closest", HEADLINE, "ours"), *claim("closest", HEADLINE, "paper", ".0f")],
    "recipe-headline": lambda: claim("table1", HEADLINE, "ours"),
    "cite": lambda: [
        *cells("replication.csv", "row == 'MLP2'", "recipe_valid, recipe_test"),
        *cells("replication.csv", "name == 'kn5'", "recipe_valid, recipe_test"),
        *claim("table1", HEADLINE, "ours"),
        *claim("table1", HEADLINE, "low, 100 * high"),
        *cells("replication.csv", "row == 'MLP10'", "100 / paper_valid_ratio - 100, 100 / paper_test_ratio - 100"),
        *claim("table1", HEADLINE, "paper", ".0f"),
        *cells("replication.csv", "name == 'best-ngram'", "recipe_valid, recipe_test"),
    ],
    "paper-headline": lambda: claim("table1", HEADLINE, "paper", ".0f"),
    "recipe-best": lambda: [
        *claim("table1", HEADLINE, "ours"),
        *cells("replication.csv", "row == 'MLP2'", "recipe_valid, recipe_test"),
    ],
    "procedure-headline": lambda: [
        *claim("faithful", HEADLINE, "ours"),
        *cells("replication.csv", "row == 'MLP10'", "procedure_valid, procedure_test"),
    ],
    "gains": lambda: [*gains("faithful"), *gains("closest"), *gains("table1"), *gains("table1", "")],
    "classes-reached": lambda: [
        *reached("faithful", "class500-3", "both"),
        *reached("faithful", "class500-3", "both", "with share"),
    ],
    "class-one": lambda: [*of("extra.csv", "class500-3-added"), *of("table1.csv", "kn5")],
    "best-ngram": lambda: [beaten(whose) for whose in ("procedure", "closest", "recipe")],
    "longer": lambda: [*of("faithful20/faithful20.csv", "mlp5"), *of("faithful/faithful.csv", "mlp5")],
    "classes-longer": lambda: [
        *reached("faithful", "class500-3", "both"),
        *reached("faithful20", "class500-3", "both"),
        *reached("faithful20", "class500-3", "both", "with share"),
    ],
    "class-added": lambda: [
        *of("extra.csv", "class500-3-added"),
        *of("table1.csv", "class500-3"),
        *over("class500-3-added", "kn5", "{}_raw"),
        *over("class500-3", "kn5", "paper_{}"),
        *over("class500-3-added", "kn5-srilm", "{}_raw"),
    ],
    "srilm": lambda: [*reached("faithful", "kn5-srilm", "both"), *reached("faithful20", "kn5-srilm", "both")],
    "steps": lambda: cells("timeline/steps.csv", "valid_share > -9", "100 * valid_share, 100 * test_share", ".0f"),
    "cache": lambda: of("cache/cache.csv", "kn5-cached best-ngram-cached mlp1-cached awd-lstm-cached"),
    "bars": lambda: of("later/later.csv", "awd-lstm everything everything-adapting transformer", "test, valid"),
    "window": lambda: of(
        "window/window.csv", "residual residual-direct residual-direct-dynamic mlp1-dynamic", "valid, test"
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
        *ratio("table2", "large-mixed", "interpolated3", BOTH),
        *ratio("table2", "large-mixed", "kn5", BOTH),
        *ratio("table2", "large-mixed", "kn5", "valid_low, valid_high, test_low, test_high"),
    ],
    "table2-better": lambda: [*claim("table2", TABLE2, "ours"), *claim("table2", TABLE2, "paper")],
    "table2-best-ngram": lambda: ratio("table2", "large-mixed", "best-ngram-500", BOTH),
    "repeats": lambda: [
        *ratio("table2-repeats", "large-mixed", "interpolated3", BOTH),
        *ratio("table2-repeats", "large-mixed", "kn5", BOTH),
    ],
    "table2-interval": lambda: ratio("table2", "large-mixed", "kn5", "test_low, test_high, valid_low, valid_high"),
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
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8").partition("## The paper's procedure")[2]
    recipe = OmegaConf.load(ROOT / "conf" / "recipe" / "paper.yaml")
    lines = [(re.findall(r"\w+", keys), values.replace("`", "").split(", ")) for keys, values in KEYS.findall(text)]
    said = {key: value for keys, values in lines for key, value in zip(keys, values, strict=True)}
    assert len(said) > 12 and said.pop("epochs") == f"10 or {recipe['epochs']}"
    for key, value in said.items():
        assert OmegaConf.create(f"a: {value}").a == recipe[key], key
