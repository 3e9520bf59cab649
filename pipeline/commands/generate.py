"""Text from a model, word by word.

Words are drawn from its probabilities, sharpened by a temperature below 1, and from the likeliest k alone with --top.
The same seed gives the same text. `<unk>` is never drawn, and a mark <p> ends a paragraph.
"""

import argparse
import re

import numpy as np

from pipeline.commands import Parser, Session, add_model, add_places, whole_number
from pipeline.core.common.symbols import PARAGRAPH, TEXT
from pipeline.data.errors import InputError

EXAMPLE = "nplm generate mlp1-mixed --seed 1 --temperature 0.8 --top 50"


def arguments(parser: Parser) -> None:
    add_model(parser)
    add, number = parser.add_argument, whole_number(1)
    add("--words", type=number, default=100, metavar="N", help="fewer where the text ends; default %(default)s")
    add("--start", default="", metavar="WORDS", help="words to go on from; default none")
    add("--seed", type=whole_number(0), default=0, help="the same gives the same text; default %(default)s")
    add("--temperature", type=float, default=1.0, help="below 1: likelier words more often; default %(default)s")
    add("--top", type=whole_number(0), default=0, metavar="K", help="draw from so many; default 0, from all")
    add_places(parser)


def run(given: argparse.Namespace) -> None:
    """Prints the text, or in CSV and JSON its words with their log-probabilities."""
    import pandas as pd
    from tqdm import tqdm

    from pipeline.models import user_text

    if not 0.01 <= given.temperature <= 100:
        raise InputError(f"--temperature {given.temperature:g}: choose from 0.01 to 100")
    session = Session(given)
    corpus, model, random = session.corpus, session.model(given.model), np.random.default_rng(given.seed)
    start = user_text.start_of(given.start, corpus)
    ids = np.concatenate([user_text.before(corpus), user_text.ids_of(start, corpus)])
    never = user_text.unknown(np.arange(len(corpus.vocabulary)), corpus)
    rows = []
    for _ in tqdm(range(given.words), unit="w", delay=1, disable=None):
        log_p = np.where(never, -np.inf, model.next(ids).astype(np.float64))
        drawn = int(random.choice(len(log_p), p=_sharpened(log_p, given.top, given.temperature)))
        rows.append({"word": corpus.vocabulary[drawn], "log_probability": log_p[drawn]})
        ids = np.append(ids, drawn)
        if rows[-1]["word"] == TEXT:
            break
    if given.format == "table":
        words = " ".join(user_text.once([*start, *(row["word"] for row in rows)], user_text.doubled(corpus)))
        print(re.sub(rf"\s*{PARAGRAPH}\s*", "\n", words).strip())
    else:
        session.show(pd.DataFrame(rows))


def _sharpened(log_p: np.ndarray, top: int, temperature: float) -> np.ndarray:
    """P^(1 / temperature) (V,), over its sum; top: the likeliest so many share it, 0: all."""
    from scipy.special import softmax

    if 0 < top < len(log_p):
        least = np.partition(log_p, -top)[-top]
        log_p = np.where(log_p >= least, log_p, -np.inf)
    return softmax(log_p / temperature)
