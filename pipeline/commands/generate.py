"""Text from a model, word by word.

Each word is drawn from the model's probabilities. A temperature below 1 makes likely words likelier; with --top K only
the K likeliest words are drawn. The same seed gives the same text. `<unk>` is never drawn. A mark <p> ends a paragraph.
A model of a corpus in lower case writes lower case.
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
    add = parser.add_argument
    add(
        "--words", type=whole_number(1), default=100, metavar="N", help="fewer where the text ends; default %(default)s"
    )
    add("--prompt", default="", metavar="WORDS", help="words to go on from; default none")
    add("--seed", type=whole_number(0), default=0, help="the same gives the same text; default %(default)s")
    add("--temperature", type=float, default=1.0, help="below 1: likelier words more often; default %(default)s")
    add("--top", type=whole_number(0), default=0, metavar="K", help="draw from so many; default 0, from all")
    add_places(parser)


def run(options: argparse.Namespace) -> None:
    """Prints the text; as CSV or JSON, its words with their log-probabilities."""
    if not 0.01 <= options.temperature <= 100:
        raise InputError(f"--temperature {options.temperature:g}: choose from 0.01 to 100")
    (model,) = open_models(options, options.model)
    vocabulary = model.corpus.vocabulary
    prompt = model.tokeniser.beginning(options.prompt)
    ids = model.tokeniser.ids(prompt)
    random = np.random.default_rng(options.seed)
    rows = []
    for _ in tqdm(range(options.words), unit="w", delay=1, disable=None):
        log_p = np.where(model.tokeniser.unknown, -np.inf, model.distribution(ids).astype(float))
        threshold = np.sort(log_p)[-options.top] if 0 < options.top < len(log_p) else -np.inf
        p = softmax(np.where(log_p >= threshold, log_p, -np.inf) / options.temperature)
        word = int(random.choice(len(p), p=p))
        rows.append({"word": vocabulary[word], "log_probability": log_p[word]})
        ids = np.append(ids, word)
        if rows[-1]["word"] == TEXT:
            break
    model.explain()
    if options.format == "table":
        print(model.tokeniser.printed([*prompt, *(row["word"] for row in rows)]))
    else:
        show(options, pd.DataFrame(rows))
