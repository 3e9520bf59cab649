"""Text from a model, word by word.

Words are drawn from its probabilities, sharpened by a temperature below 1, and from the likeliest k alone with --top.
The same seed gives the same text. `<unk>` is never drawn, and a mark <p> ends a paragraph.
"""

import re

import numpy as np
import pandas as pd
from scipy.special import softmax
from tqdm import tqdm

from pipeline.commands import user_text
from pipeline.commands.command import Command, above_zero, not_negative
from pipeline.data.errors import InputError
from pipeline.data.symbols import PARAGRAPH, TEXT


def main() -> None:
    """python -m pipeline.commands.generate MODEL"""
    command = Command("generate", __doc__)
    command.parser.add_argument("model", help="such as mlp1, kn5, mlp2, best-ngram; with a seed: mlp1/2")
    command.parser.add_argument("--words", type=above_zero, default=100, help="how many; fewer where the text ends")
    command.parser.add_argument("--start", default="", help="words to go on from")
    command.parser.add_argument("--seed", type=not_negative, default=0, help="the same gives the same text")
    command.parser.add_argument("--temperature", type=float, default=1.0, help="below 1: likelier words more often")
    command.parser.add_argument("--top", type=not_negative, default=0, help="draw from so many; 0: from all")

    def generate(arguments) -> None:
        if not 0.01 <= arguments.temperature <= 100:
            raise InputError(f"--temperature {arguments.temperature:g}: choose from 0.01 to 100")
        model, random = command.model(arguments.model), np.random.default_rng(arguments.seed)
        vocabulary = command.corpus.vocabulary
        start = user_text.words_of(arguments.start, command.corpus) if arguments.start.strip() else []
        while start and start[-1] in (PARAGRAPH, TEXT):  # it goes on from the words
            start.pop()
        ids = np.concatenate([user_text.before(command.corpus), user_text.ids_of(start, command.corpus)])
        never = user_text.unknown(np.arange(len(vocabulary)), command.corpus)
        rows = []
        for _ in tqdm(range(arguments.words), unit="w", delay=1, disable=None):
            log_p = np.where(never, -np.inf, model.next(ids).astype(np.float64))
            p = softmax(_likeliest(log_p, arguments.top) / arguments.temperature)
            drawn = int(random.choice(len(p), p=p))
            rows.append({"word": vocabulary[drawn], "log_probability": log_p[drawn]})
            ids = np.append(ids, drawn)
            if vocabulary[drawn] == TEXT:
                break
        if arguments.format == "table":
            text = " ".join([*start, *(row["word"] for row in rows)])
            print(re.sub(rf"\s*{PARAGRAPH}\s*", "\n", text).strip())
        else:
            command.show(pd.DataFrame(rows))

    command.run(generate)


def _likeliest(log_p: np.ndarray, top: int) -> np.ndarray:
    """The others at -inf; top=0: all stay."""
    if not 0 < top < len(log_p):
        return log_p
    least = np.partition(log_p, -top)[-top]
    return np.where(log_p >= least, log_p, -np.inf)


if __name__ == "__main__":
    main()
