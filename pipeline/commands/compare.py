"""Where two models differ most on a text: the words that one gives far more probability than the other."""

import numpy as np
import pandas as pd

from pipeline.commands import user_text
from pipeline.commands.command import Command, above_zero
from pipeline.data.errors import InputError
from pipeline.data.evaluation import perplexity


def main() -> None:
    """python -m pipeline.commands.compare A B FILE"""
    command = Command("compare", __doc__)
    command.parser.add_argument("a", metavar="A", help="a model, such as mlp1")
    command.parser.add_argument("b", metavar="B", help="another, such as kn5")
    command.parser.add_argument("file", nargs="?", default="-", help="a text; - (default): standard input")
    command.parser.add_argument("--tokens", action="store_true", help="tokenised: words apart by white space")
    command.parser.add_argument("--count", type=above_zero, default=20, help="words shown")

    def compare(arguments) -> None:
        if arguments.a == arguments.b:
            raise InputError(f"{arguments.a} and {arguments.b}: give two models")
        words = command.words_of(arguments.file, arguments.tokens)
        models = (command.model(name) for name in (arguments.a, arguments.b))
        a, b = (user_text.scored(words, model, command.corpus)["log_probability"].to_numpy() for model in models)
        most = np.argsort(-np.abs(a - b), kind="stable")[: arguments.count]
        table = pd.DataFrame(
            {
                "place": most + 1,
                "before": [" ".join(words[max(0, t - 4) : t]) for t in most],
                "word": [words[t] for t in most],
                arguments.a: a[most],
                arguments.b: b[most],
                "difference": (a - b)[most],
            }
        )
        names = {f"perplexity of {name}": perplexity(p) for name, p in ((arguments.a, a), (arguments.b, b))}
        command.show(table, {"words": len(words)} | names)

    command.run(compare)


if __name__ == "__main__":
    main()
