"""How likely a text is: the log-probability of each word, and the perplexity.

A word that the vocabulary does not hold counts as `<unk>` and is marked. After each paragraph and the text stand marks
(<p>, <text>), which count too, as in training. Logarithms are natural; in CSV the sums go to standard error.
"""

from pipeline.commands import user_text
from pipeline.commands.command import Command
from pipeline.data.evaluation import perplexity


def main() -> None:
    """python -m pipeline.commands.score MODEL FILE"""
    command = Command("score", __doc__)
    command.parser.add_argument("model", help="such as mlp1, kn5, mlp2, best-ngram; with a seed: mlp1/2")
    command.parser.add_argument("file", nargs="?", default="-", help="a text; - (default): standard input")
    command.parser.add_argument("--tokens", action="store_true", help="tokenised: words apart by white space")

    def score(arguments) -> None:
        words = command.words_of(arguments.file, arguments.tokens)
        table = user_text.scored(words, command.model(arguments.model), command.corpus)
        value = perplexity(table["log_probability"].to_numpy())
        command.show(table, {"words": len(table), "unknown words": int(table["unknown"].sum()), "perplexity": value})

    command.run(score)


if __name__ == "__main__":
    main()
