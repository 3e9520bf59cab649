"""Text from a model, word by word.

Words are drawn from its probabilities, sharpened by a temperature below 1, and from the likeliest k alone with --top.
The same seed gives the same text. `<unk>` is never drawn, and a mark <p> ends a paragraph. A model of a corpus in lower
case writes lower case.
"""

import argparse

import numpy as np
import pandas as pd
from scipy.special import softmax
from tqdm import tqdm

from pipeline.commands import Parser, add_model, add_places, open_models, show, whole_number
from pipeline.core.common.errors import InputError
from pipeline.core.common.stream import TEXT

EXAMPLE = 'nplm generate mlp1-mixed --prompt "The jury said" --temperature 0.8 --top 50'


def arguments(parser: Parser) -> None:
    add_model(parser)
    add, number = parser.add_argument, whole_number(1)
    add("--words", type=number, default=100, metavar="N", help="fewer where the text ends; default %(default)s")
    add("--prompt", default="", metavar="WORDS", help="words to go on from; default none")
    add("--seed", type=whole_number(0), default=0, help="the same gives the same text; default %(default)s")
    add("--temperature", type=float, default=1.0, help="below 1: likelier words more often; default %(default)s")
    add("--top", type=whole_number(0), default=0, metavar="K", help="draw from so many; default 0, from all")
    add_places(parser)


def run(given: argparse.Namespace) -> None:
    """Prints the text, or in CSV and JSON its words with their log-probabilities."""
    if not 0.01 <= given.temperature <= 100:
        raise InputError(f"--temperature {given.temperature:g}: choose from 0.01 to 100")
    (model,) = open_models(given, given.model)
    start, vocabulary = model.tokeniser.beginning(given.prompt), model.corpus.vocabulary
    ids, random, rows = model.tokeniser.ids(start), np.random.default_rng(given.seed), []
    for _ in tqdm(range(given.words), unit="w", delay=1, disable=None):
        log_p = np.where(model.tokeniser.unknown, -np.inf, model.distribution(ids).astype(float))
        least = np.sort(log_p)[-given.top] if 0 < given.top < len(log_p) else -np.inf
        p = softmax(np.where(log_p >= least, log_p, -np.inf) / given.temperature)
        drawn = int(random.choice(len(p), p=p))
        rows.append({"word": vocabulary[drawn], "log_probability": log_p[drawn]})
        ids = np.append(ids, drawn)
        if rows[-1]["word"] == TEXT:
            break
    model.explain()
    if given.format == "table":
        print(model.tokeniser.printed([*start, *(row["word"] for row in rows)]))
    else:
        show(given, pd.DataFrame(rows))
