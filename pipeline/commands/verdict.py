"""Which of several trained models is better, and how far that holds: ratios of perplexities with 95 % intervals.

Each argument is a folder of a result, of its seeds, or of a grid (multirun/<date>/<time>); runs that differ in their
seed alone are one model. All are compared with the first. Intervals resample the texts, both models on the same ones,
and hold the spread of the seeds where both have several; where there are fewer than 20 texts they resample blocks of
some 1,000 tokens, and are wider the fewer those are. Choose on validation, which is the default, and look at test once,
when the choice is made.
"""

import argparse
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.commands import Parser
from pipeline.config.base import ROOT
from pipeline.core.common.errors import InputError
from pipeline.data import record
from pipeline.data.corpus import COUNTS, Corpus, read_corpus
from pipeline.data.files import read_json
from pipeline.data.predictions import READINGS
from pipeline.reporting import resampling
from pipeline.running.tracking import flattened

EXAMPLE = "nplm verdict predictions/table1/mlp5 predictions/table1/mlp9 predictions/table1/kn5"
TEXTS, BLOCK = 20, 1000  # fewer texts say little; tokens of a block
CORPORA = ("data/*", "outputs/*/data")


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
    tokens, texts = len(corpus.ids(given.split)), resampling.texts_of(corpus, given.split)
    parts = texts if len(texts) >= TEXTS else _blocks(tokens)
    seeds = pd.DataFrame({"seeds": map(len, models.values())}, index=list(models))
    readings = [_reading(reading, models, parts, given.split, len(texts) < TEXTS) for reading in READINGS]
    table = pd.concat([seeds, *readings], axis=1).rename_axis("model").reset_index()
    print(f"{table.to_string(index=False)}\n")
    print("over the first: ratio of perplexities (95 % interval); open: the interval holds 1; ±: deviation over seeds")
    resampled = f"blocks of some {BLOCK:,} tokens: so few texts say little of what others would give"
    said = f"{tokens:,} tokens of {len(texts)} text{'s' * (len(texts) != 1)}; intervals resample"
    print(f"{given.split}: {said} {'texts' if parts is texts else resampled}")
    if min(map(len, models.values())) == 1:
        print("with one seed of a network the spread of seeds is not in the interval: another may say otherwise")


def _models(given: list[Path]) -> dict[str, dict[int, Path]]:
    """The folder of each seed of each model, by its name and the values in which it differs from others of its name."""
    models: dict[tuple, dict[int, Path]] = {}  # by name and settings
    for folder in given:
        there = [file.parent for file in sorted(folder.rglob(record.FILE)) if (file.parent / "valid.npy").is_file()]
        if not there:
            raise InputError(f"{folder}: no result in it; give a folder that a stage wrote, of its seeds, or of a grid")
        for each in there:
            made = record.read(each)
            settings = tuple((key, str(value)) for key, value in flattened(made.config))
            models.setdefault((made.name, settings), {}).setdefault(made.seed, each)

    def called(name: str, settings: tuple) -> str:
        alike = [set(others) for other, others in models if other == name]
        differs = [f"{key}={value}" for key, value in settings if not all((key, value) in each for each in alike)]
        return " ".join([name, *differs])

    return {called(*key): seeds for key, seeds in models.items()}


def _corpus(data: Path | None, folders: list[Path]) -> Corpus:
    """The corpus that all were made from."""
    digest = record.read(folders[0]).data
    files = chain.from_iterable(base.glob(f"{each}/{COUNTS}") for base in (Path(), ROOT) for each in CORPORA)
    folder = data or next((file.parent for file in files if read_json(file).get("digest") == digest), None)
    if not folder:
        raise InputError(f"{folders[0]}: its corpus is not in {' or '.join(CORPORA)}: give it as --data FOLDER")
    corpus = read_corpus(folder)
    for folder in folders:
        record.check_corpus(record.read(folder), folder, corpus)
    return corpus


def _blocks(tokens: int) -> pd.DataFrame:
    """A split cut into blocks of some BLOCK tokens, two at least: first and tokens of each."""
    first = np.linspace(0, tokens, max(tokens // BLOCK, 2), endpoint=False).astype(int)
    return pd.DataFrame({"first": first, "tokens": np.diff(first, append=tokens)})


def _reading(reading: str, models: dict[str, dict[int, Path]], parts: pd.DataFrame, split: str, wider: bool):
    """By model: its perplexity and its ratio to the first model's, in words. parts: what is resampled."""
    tokens, lines, sums = parts["tokens"].to_numpy(), {}, []
    for name, seeds in models.items():
        by_seed = resampling.sums(parts, list(seeds.values()), READINGS[reading].format(split))
        sums.append(pd.DataFrame(by_seed, index=list(seeds)))  # (seeds, parts)
        each, said = np.exp(-by_seed.sum(1) / tokens.sum()), ""
        if len(sums) > 1:
            ratio = resampling.ratio_of_seeds(*_paired(sums[-1], sums[0]), tokens)
            ratio = resampling.widened(ratio, len(parts)) if wider else ratio
            better = "better" if ratio.high < 1 else "worse" if ratio.low > 1 else "open"
            said = f"{ratio.value:.3f} ({ratio.low:.3f} to {ratio.high:.3f}), {better}"
        spread = f" ± {each.std(ddof=1):.1f}" if len(each) > 1 else ""
        lines[name] = {f"{split}, {reading}": f"{each.mean():.1f}{spread}", f"{reading}, over the first": said}
    return pd.DataFrame.from_dict(lines, orient="index")


def _paired(*models: pd.DataFrame) -> list[np.ndarray]:
    """Of two models with several seeds the seeds that both have, else the mean of each, (seeds, parts)."""
    common = models[0].index.intersection(models[1].index)
    if len(common) and min(map(len, models)) > 1:
        return [sums.loc[common].to_numpy() for sums in models]
    return [sums.to_numpy().mean(0, keepdims=True) for sums in models]
