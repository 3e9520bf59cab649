"""Which of several trained models is better, and whether that is sure: ratios of perplexities with 95 % intervals.

Each argument is a folder of a result, of its seeds, or of a grid (multirun/<date>/<time>); runs that differ in their
seed alone are one model. All are compared with the first. Intervals resample the texts, both models on the same ones,
and hold the spread of the seeds where both have several; where there are fewer than 20 texts they resample blocks of
some 1,000 tokens, and are wider the fewer those are. Choose on validation, which is the default, and look at test once,
when the choice is made.
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pipeline.commands import Parser
from pipeline.config.base import ROOT
from pipeline.data import record
from pipeline.data.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from pipeline.data.corpus import Corpus
    from pipeline.reporting.resampling import Estimate

EXAMPLE = "nplm verdict predictions/table1/mlp5 predictions/table1/mlp9 predictions/table1/kn5"
TEXTS, BLOCK = 20, 1000  # fewer texts say little; tokens of a block
CORPORA = ("data/*", "outputs/*/data")
READINGS = {"raw": "raw/{}", "with share": "{}"}
DIFFER = 4  # keys that a model's name may consist of


def arguments(parser: Parser) -> None:
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="of a result, of its seeds, of a grid")
    parser.add_argument("--split", default="valid", choices=["valid", "test"], help="default %(default)s")
    searched = "preprocessed corpus of the results; default: whichever fits of data/* and outputs/*/data"
    parser.add_argument("--data", type=Path, metavar="FOLDER", help=searched)


def run(given: argparse.Namespace) -> None:
    """Prints a line for each model, and of what the intervals are."""
    models = _models(given.folders)
    if len(models) < 2:
        raise InputError(f"{', '.join(map(str, given.folders))}: one model; give the folders of two or more")
    corpus = _corpus(given.data, [folder for seeds in models.values() for folder in seeds.values()])
    texts, whole = _texts(corpus, given.split)
    print(_table(models, corpus, texts, given.split, blocks=whole < TEXTS).to_string(index=False))
    print(
        "\nover the first: ratio of perplexities (95 % interval); open: the interval holds 1; ±: deviation over seeds"
    )
    tokens = len(corpus.ids(given.split))
    said = f"{given.split}: {tokens:,} tokens of {whole} text{'s' * (whole != 1)}; intervals resample"
    if whole >= TEXTS:
        print(f"{said} texts")
    else:
        print(f"{said} blocks of some {BLOCK:,} tokens: so few texts say little of what others would give")


def _models(given: list[Path]) -> dict[str, dict[int, Path]]:
    """The folder of each seed of each model, by what it is called."""
    made = {}
    for folder in given:
        files = [folder / record.FILE] if (folder / record.FILE).is_file() else sorted(folder.rglob(record.FILE))
        there = [file.parent for file in files if (file.parent / "valid.npy").is_file()]
        if not there:
            raise InputError(f"{folder}: no result in it; give a folder that a stage wrote, of its seeds, or of a grid")
        made |= {each: record.read(each) for each in there}
    alike: dict[tuple, dict[int, Path]] = {}
    for folder, its in made.items():
        alike.setdefault((its.name, tuple(_settings(its))), {}).setdefault(its.seed, folder)
    flat = {key: dict(key[1]) for key in alike}
    return {_called(key, flat): seeds for key, seeds in alike.items()}


def _settings(made: record.Record) -> Iterator[tuple[str, str]]:
    """Keys, dotted, and values of a run, as a command would give them."""
    from pipeline.running.tracking import flattened

    for key, value in flattened(made.config):
        yield key, str(value).lower() if isinstance(value, bool) else str(value)


def _called(key: tuple, flat: dict[tuple, dict[str, str]]) -> str:
    """A model's name, with the values in which it differs from others of its name."""
    same = [values for other, values in flat.items() if other[0] == key[0]]
    names = dict.fromkeys(name for values in same for name in values)
    differ = [name for name in names if len({values.get(name) for values in same}) > 1]
    return " ".join([key[0], *(f"{name}={flat[key].get(name)}" for name in differ[:DIFFER])])


def _corpus(data: Path | None, folders: list[Path]) -> "Corpus":
    """The corpus that all were made from."""
    from pipeline.data.corpus import COUNTS, read_corpus

    digest = record.read(folders[0]).data
    searched = [base.glob(f"{each}/{COUNTS}") for base in (Path(), ROOT) for each in CORPORA]
    choices = [data] if data else [file.parent for files in searched for file in files]
    corpora = (read_corpus(folder) for folder in choices)
    corpus = next((corpus for corpus in corpora if data or corpus.counts["digest"] == digest), None)
    if corpus is None:
        raise InputError(f"{folders[0]}: its corpus is not in {' or '.join(CORPORA)}: give it as --data FOLDER")
    for folder in folders:
        record.check_corpus(record.read(folder), folder, corpus)
    return corpus


def _texts(corpus: "Corpus", split: str) -> tuple["pd.DataFrame", int]:
    """What is resampled, with columns first and tokens; how many texts there are."""
    import pandas as pd

    from pipeline.reporting import by_text

    texts = by_text.texts_of(corpus, split)
    if len(texts) >= TEXTS:
        return texts, len(texts)
    length = len(corpus.ids(split))
    first = np.linspace(0, length, max(length // BLOCK, 2), endpoint=False).astype(int)
    return pd.DataFrame({"first": first, "tokens": np.diff(first, append=length)}), len(texts)


def _table(
    models: dict[str, dict[int, Path]], corpus: "Corpus", texts: "pd.DataFrame", split: str, blocks: bool
) -> "pd.DataFrame":
    import pandas as pd

    from pipeline.reporting import by_text, resampling

    tokens, lines = texts["tokens"].to_numpy(), []
    sums = {
        reading: {name: by_text.sums(texts, [*seeds.values()], array.format(split)) for name, seeds in models.items()}
        for reading, array in READINGS.items()
    }
    first = next(iter(models))
    for name, seeds in models.items():
        line = {"model": name, "seeds": len(seeds)}
        for reading, of in sums.items():
            each = np.exp(-of[name].sum(1) / tokens.sum())
            spread = f" ± {each.std(ddof=1):.1f}" if len(each) > 1 else ""
            line[f"{split}, {reading}"] = f"{each.mean():.1f}{spread}"
            if name == first:
                line[f"{reading}, over the first"] = ""
                continue
            common = (
                [seed for seed in seeds if seed in models[first]] if min(len(seeds), len(models[first])) > 1 else []
            )
            own, other = (
                of[key][[list(models[key]).index(seed) for seed in common]]
                if common
                else of[key].mean(0, keepdims=True)
                for key in (name, first)
            )
            ratio = resampling.ratio_of_seeds(own, other, tokens)
            ratio = widened(ratio, len(texts)) if blocks else ratio
            said = "better" if ratio.high < 1 else "worse" if ratio.low > 1 else "open"
            line[f"{reading}, over the first"] = f"{ratio.value:.3f} ({ratio.low:.3f} to {ratio.high:.3f}), {said}"
        lines.append(line)
    return pd.DataFrame(lines)


def widened(ratio: "Estimate", parts: int) -> "Estimate":
    """A ratio whose interval resampled few parts: so few show too little spread, by the root of (n - 1) / n, and want
    Student's quantile in place of the normal one."""
    from scipy import stats

    middle = 0.975
    factor = stats.t.ppf(middle, parts - 1) / stats.norm.ppf(middle) * (parts / (parts - 1)) ** 0.5
    low, high = (ratio.value * (end / ratio.value) ** factor for end in (ratio.low, ratio.high))
    return replace(ratio, low=low, high=high)
