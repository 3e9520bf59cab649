"""Which of several trained models is better, and how certain that is: ratios of perplexities with 95 % intervals.

Each argument is a folder of a result, of its seeds, or of a grid (multirun/<date>/<time>). Runs that differ only in
their seed are one model. All models are compared with the first. The intervals resample the texts, the same texts for
both models. If both models have several seeds, the intervals also contain the spread over seeds. With fewer than 20
texts, blocks of some 1,000 tokens are resampled in place of texts; the fewer blocks, the wider the intervals. With
fewer than 2,000 tokens, or where half of them are unknown words, no model is called better or worse. Choose on
validation, which is the default. Look at test once, when the choice is made.
"""

import argparse
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.commands import Parser
from pipeline.config.base import ROOT
from pipeline.core.common.errors import InputError
from pipeline.core.common.stream import UNKNOWN
from pipeline.core.text.vocabulary import PROPER
from pipeline.data import record as records
from pipeline.data.corpus import COUNTS, Corpus, read_corpus
from pipeline.data.files import read_json
from pipeline.data.predictions import EVALUATIONS
from pipeline.reporting import resampling
from pipeline.running.tracking import flattened

EXAMPLE = "nplm verdict predictions/table1/mlp5 predictions/table1/mlp9 predictions/table1/kn5"
FEWEST = 2000  # tokens by which a model is called better or worse
CORPORA = ("data/*", "outputs/*/data")


def arguments(parser: Parser) -> None:
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="of a result, of its seeds, of a grid")
    parser.add_argument("--split", default="valid", choices=["valid", "test"], help="default %(default)s")
    data_help = "preprocessed corpus of the results; default: whichever fits of data/* and outputs/*/data"
    parser.add_argument("--data", type=Path, metavar="FOLDER", help=data_help)


def run(options: argparse.Namespace) -> None:
    """Prints a line for each model, and what the intervals resample."""
    models = _models(options.folders)
    if len(models) < 2:
        raise InputError(f"{', '.join(map(str, options.folders))}: one model; give the folders of two or more")
    corpus = _corpus(options.data, [folder for seeds in models.values() for folder in seeds.values()])
    tokens = len(corpus.ids(options.split))
    parts = resampling.parts_of(corpus, options.split)
    doubt = _doubt(corpus, options.split)
    seeds = pd.DataFrame({"seeds": map(len, models.values())}, index=list(models))
    evaluations = [
        _evaluation(kind, models, parts=parts, split=options.split, judged=not doubt) for kind in EVALUATIONS
    ]
    table = pd.concat([seeds, *evaluations], axis=1).rename_axis("model").reset_index()
    print(f"{table.to_string(index=False)}\n")
    print("over the first: ratio of perplexities (95 % interval); open: the interval holds 1; ±: deviation over seeds")
    texts = len(resampling.texts_of(corpus, options.split))
    print(f"{options.split}: {tokens:,} tokens of {texts} text{'s' * (texts != 1)}; intervals resample {parts}")
    if doubt:
        print(f"no model is called better or worse, as {doubt}")
    elif not parts.are_texts:
        print("so few texts say little of what others would give")
    if min(map(len, models.values())) == 1:
        print("with one seed of a network the spread of seeds is not in the interval: another may say otherwise")


def _doubt(corpus: Corpus, split: str) -> str:
    """Why a split is too little to judge by; empty if it is enough."""
    ids = corpus.ids(split)
    if len(ids) < FEWEST:
        return f"{split} has {len(ids):,} tokens, and {FEWEST:,} at least are wanted"
    symbols = [number for number, word in enumerate(corpus.vocabulary[:2]) if word in (UNKNOWN, PROPER)]
    unknown = np.isin(ids, symbols).mean()
    return f"{unknown:.0%} of its words are unknown, which are one symbol" if unknown >= 0.5 else ""


def _models(folders: list[Path]) -> dict[str, dict[int, Path]]:
    """The folder of each seed of each model. A model is labelled by its name and by the settings in which it differs
    from other models of that name."""
    models: dict[tuple, dict[int, Path]] = {}  # by name and settings
    for folder in folders:
        results = [file.parent for file in sorted(folder.rglob(records.FILE)) if (file.parent / "valid.npy").is_file()]
        if not results:
            raise InputError(f"{folder}: no result in it; give a folder that a stage wrote, of its seeds, or of a grid")
        for result in results:
            record = records.read(result)
            settings = tuple((key, str(value)) for key, value in flattened(record.without_seeds()))
            models.setdefault((record.name, settings), {}).setdefault(record.seed, result)

    def label(name: str, settings: tuple) -> str:
        namesakes = [set(values) for model, values in models if model == name]
        differences = [
            f"{key}={value}" for key, value in settings if not all((key, value) in values for values in namesakes)
        ]
        return " ".join([name, *differences])

    return {label(name, settings): seeds for (name, settings), seeds in models.items()}


def _corpus(data: Path | None, folders: list[Path]) -> Corpus:
    """The corpus of all results. Raises InputError if a result is of another corpus."""
    digest = records.read(folders[0]).data
    files = chain.from_iterable(base.glob(f"{pattern}/{COUNTS}") for base in (Path(), ROOT) for pattern in CORPORA)
    folder = data or next((file.parent for file in files if read_json(file).get("digest") == digest), None)
    if not folder:
        raise InputError(f"{folders[0]}: its corpus is not in {' or '.join(CORPORA)}: give it as --data FOLDER")
    corpus = read_corpus(folder)
    for folder in folders:
        records.check_corpus(records.read(folder), folder, corpus)
    return corpus


def _evaluation(
    kind: str, models: dict[str, dict[int, Path]], parts: resampling.Parts, split: str, judged: bool
) -> pd.DataFrame:
    """Two columns, by model: its perplexity, and in words the ratio of its perplexity to the first model's.

    kind: of the evaluation, a key of EVALUATIONS; parts: what is resampled; judged: whether a model is called better or
    worse.
    """
    tokens = parts.tokens
    lines = {}
    sums = []
    for name, seeds in models.items():
        by_seed = resampling.sums(parts.table, list(seeds.values()), EVALUATIONS[kind].format(split))
        sums.append(pd.DataFrame(by_seed, index=list(seeds)))  # (seeds, parts)
        perplexities = np.exp(-by_seed.sum(1) / tokens.sum())  # (seeds,)
        comparison = ""
        if len(sums) > 1:
            model, reference = _paired(sums[-1], sums[0])
            ratio = resampling.ratio_of_seeds(model, reference, tokens, few=not parts.are_texts)
            result = "better" if ratio.high < 1 else "worse" if ratio.low > 1 else "open"
            comparison = f"{ratio.value:.3f} ({ratio.low:.3f} to {ratio.high:.3f})" + f", {result}" * judged
        spread = f" ± {perplexities.std(ddof=1):.1f}" if len(perplexities) > 1 else ""
        lines[name] = {
            f"{split}, {kind}": f"{perplexities.mean():.1f}{spread}",
            f"{kind}, over the first": comparison,
        }
    return pd.DataFrame.from_dict(lines, orient="index")


def _paired(model: pd.DataFrame, reference: pd.DataFrame) -> list[np.ndarray]:
    """The sums (seeds, parts) of two models: of their common seeds if both have several seeds, else of the mean
    seed."""
    common = model.index.intersection(reference.index)
    if len(common) and min(len(model), len(reference)) > 1:
        return [sums.loc[common].to_numpy() for sums in (model, reference)]
    return [sums.to_numpy().mean(0, keepdims=True) for sums in (model, reference)]
