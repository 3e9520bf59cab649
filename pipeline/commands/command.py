"""What the verbs share: a parser whose errors are one line, the models of one corpus, output as a table, CSV or
JSON."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from pipeline.data.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from pipeline.commands.models import LanguageModel

PLACES = tuple(Path("predictions", table) for table in ("table1", "beyond", "later"))
CLUSTERS = Path("clusters/brown")
MODEL = "such as mlp1, kn5, best-ngram, mlp1-mixed (or mlp2, as the paper has it); with a seed: mlp1/2"
NETWORK = "a network, such as mlp9; with a seed: mlp1/2"


class Parser(argparse.ArgumentParser):
    """The arguments of a verb, or the list of verbs."""

    def __init__(self, name: str, description: str, example: str):
        super().__init__(
            prog=name,
            description=description,
            epilog=f"example:\n  {example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    def error(self, message: str) -> NoReturn:
        """One line; argparse's own prints the usage before it."""
        sys.exit(failed(f"{message}; `{self.prog} --help` shows what to give"))


def failed(message: str, code: int = 2) -> int:
    """Prints an error as one line, also where a library's words in it are several; the exit code."""
    print(f"error: {' '.join(message.split())}", file=sys.stderr)
    return code


def add_places(parser: Parser, formats: bool = True) -> None:
    """Where the models are, and the format of the output; formats=False: a verb without a table."""
    add = parser.add_argument
    add("--data", default="data/brown", type=Path, metavar="FOLDER", help="preprocessed corpus; default %(default)s")
    add(
        "--predictions",
        action="append",
        type=Path,
        metavar="FOLDER",
        help=f"where models are; repeated: the first folder that has one; default {', then '.join(map(str, PLACES))}",
    )
    add(
        "--clusters",
        default=CLUSTERS,
        type=Path,
        metavar="FOLDER",
        help="word classes of class-based n-grams; default %(default)s",
    )
    if formats:
        add("--format", default="table", choices=["table", "csv", "json"], help="of the output; default %(default)s")


def add_text(parser: Parser) -> None:
    """The text that a verb reads."""
    parser.add_argument("file", nargs="?", default="-", metavar="FILE", help="a text; default -, standard input")
    parser.add_argument("--tokens", action="store_true", help="the text is tokenised: words apart by white space")


class Session:
    """The corpus and the models that the arguments of a verb name."""

    def __init__(self, given: argparse.Namespace):
        from pipeline.data.corpus import read_corpus

        self.given = given
        self.predictions = given.predictions or [PLACES[0], *(place for place in PLACES[1:] if place.is_dir())]
        if not (given.data / "counts.json").is_file():
            raise InputError(f"no preprocessed corpus in {given.data}: run `make repro`, or give its folder as --data")
        self.corpus = read_corpus(given.data)

    def folder(self, name: str) -> Path:
        """Of a model by name: to say that it is missing before a text is typed and n-grams are counted."""
        from pipeline.commands import models

        return models.find(name, self.corpus, self.predictions)[0]

    def model(self, name: str) -> "LanguageModel":
        """A model by name."""
        from pipeline.commands import models

        return models.load(name, self.corpus, self.predictions, self.given.clusters)

    def features(self, name: str) -> "np.ndarray":
        """C (V, m) of a network by name."""
        from pipeline.data.weights import read_features

        return read_features(self.folder(name))

    def words(self) -> list[str]:
        """The words of the text; see user_text.words_of."""
        from pipeline.commands import user_text

        file = self.given.file
        where = "standard input" if file == "-" else file
        try:
            content = _standard_input() if file == "-" else Path(file).read_bytes()
            return user_text.words_of(content.decode("utf-8-sig"), self.corpus, self.given.tokens)
        except OSError as error:
            raise InputError(f"{where}: {error.strerror or error}") from error
        except UnicodeDecodeError as error:
            raise InputError(f"{where}: not UTF-8; convert it, for example with iconv") from error
        except InputError as error:
            raise InputError(f"{where}: {error}") from error

    def show(self, table: "pd.DataFrame", summary: dict | None = None) -> None:
        """The table in the format asked for; the summary below it, or around it in JSON."""
        import pandas as pd

        if self.given.format == "json":
            whole = {"rows": table.to_dict("records")} | (summary or {})
            print(pd.Series(whole).to_json(indent=2, force_ascii=False, double_precision=6))
        elif self.given.format == "csv":
            table.to_csv(sys.stdout, index=False, float_format="%.6f")
            print("".join(f"# {key}: {value}\n" for key, value in (summary or {}).items()), end="", file=sys.stderr)
        else:
            if len(table):
                print(table.to_string(index=False, float_format="%.3f"))
            for key, value in (summary or {}).items():
                print(f"{key}: {value:,.2f}" if isinstance(value, float) else f"{key}: {value}")


def _standard_input() -> bytes:
    if sys.stdin.isatty():
        print("Type a text; Ctrl-D ends it.", file=sys.stderr)
    return sys.stdin.buffer.read()


def above_zero(text: str) -> int:
    """An argument that is a whole number above zero."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return int(text)


def not_negative(text: str) -> int:
    """An argument that is a whole number, zero or above."""
    return 0 if text == "0" else above_zero(text)
