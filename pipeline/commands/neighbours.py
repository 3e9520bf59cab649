"""The words whose features are most like a word's, by the cosine between them."""

import numpy as np
import pandas as pd

from pipeline.commands.command import Command, above_zero, not_negative
from pipeline.data.errors import InputError
from pipeline.networks.nearest import nearest


def main() -> None:
    """python -m pipeline.commands.neighbours WORD"""
    command = Command("neighbours", __doc__)
    command.parser.add_argument("word")
    command.parser.add_argument("--model", default="mlp1", help="a network, such as mlp9 or mlp1/2")
    command.parser.add_argument("--count", type=above_zero, default=10, help="words shown")
    command.parser.add_argument("--seen", type=not_negative, default=10, help="only words that training shows so often")

    def neighbours(arguments) -> None:
        vocabulary = command.corpus.vocabulary
        if arguments.word not in vocabulary:
            alike = [word for word in vocabulary if word.lower() == arguments.word.lower()]
            raise InputError(
                f"{arguments.word!r} is not in the vocabulary of {arguments.data}"
                + (f"; {', '.join(map(repr, alike))} is" if alike else ": it is too rare there, or another spelling")
            )
        features = command.features(arguments.model)
        counts = np.bincount(command.corpus.train, minlength=len(vocabulary))
        word = vocabulary.index(arguments.word)
        if counts[word] == 0:
            raise InputError(f"{arguments.word!r} never occurs in training, so it has learned no features")
        ids, cosines = nearest(features, word, arguments.count, counts >= arguments.seen)
        if not len(ids):
            raise InputError(f"no other word occurs {arguments.seen} times in training: lower --seen")
        command.show(pd.DataFrame({"word": [vocabulary[i] for i in ids], "cosine": cosines.astype(float)}))

    command.run(neighbours)


if __name__ == "__main__":
    main()
