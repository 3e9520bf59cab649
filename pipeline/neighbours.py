"""The words whose features are most like a word's, by the cosine between them."""

import numpy as np
import pandas as pd

from pipeline.command import Command
from pipeline.core.errors import InputError
from pipeline.core.neighbours import nearest
from pipeline.weights import folder_of, read_features


def main() -> None:
    """python -m pipeline.neighbours WORD"""
    command = Command("neighbours", __doc__)
    command.parser.add_argument("word")
    command.parser.add_argument("--model", default="mlp1", help="a network, such as mlp9 or mlp1/2")
    command.parser.add_argument("--count", type=int, default=10)
    command.parser.add_argument("--seen", type=int, default=10, help="only words that training shows so often or more")

    def neighbours(arguments) -> None:
        vocabulary = command.corpus.vocabulary
        if arguments.word not in vocabulary:
            alike = [word for word in vocabulary if word.lower() == arguments.word.lower()]
            raise InputError(
                f"{arguments.word!r} is not in the vocabulary of {arguments.data}"
                + (f"; {', '.join(map(repr, alike))} is" if alike else ": it is too rare there, or another spelling")
            )
        features = read_features(folder_of(arguments.model, arguments.predictions))
        often = np.bincount(command.corpus.train, minlength=len(vocabulary)) >= arguments.seen
        word = vocabulary.index(arguments.word)
        ids, cosines = nearest(features, word, arguments.count, often)
        command.show(pd.DataFrame({"word": [vocabulary[i] for i in ids], "cosine": cosines.astype(float)}))

    command.run(neighbours)


if __name__ == "__main__":
    main()
