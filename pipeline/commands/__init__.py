"""What a user does with models: the console command `nplm`. Each other file here is one command.

A command's docstring is its help, whose first sentence the list of commands shows; EXAMPLE is a line of the help;
`arguments(parser)` declares what it takes; `run(given)` does it, and may give an exit code. All are imported for the
list, so what is slow to import (pandas, scipy, torch, MLflow) is imported where it is used.

Here is what commands share: arguments, the models of one corpus, output as a table, CSV or JSON.
"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from pipeline.config.base import ROOT
from pipeline.data.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from pipeline.models.by_name import LanguageModel


class Parser(argparse.ArgumentParser):
    """The arguments of a command, or the list of commands."""

    def __init__(self, **settings):
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **settings)

    def error(self, message: str) -> NoReturn:
        """One line; argparse's own prints the usage before it."""
        sys.exit(failed(f"{message}; `{self.prog} --help` shows what to give"))


def failed(message: str, code: int = 2) -> int:
    """Prints an error as one line, also where a library's words in it are several; the exit code."""
    print(f"error: {' '.join(message.split())}", file=sys.stderr)
    return code


def add_model(parser: Parser, name: str = "model", only: str = "mlp1, kn5, best-ngram, mlp1-mixed") -> None:
    """A model by its name; `--model`: by an option. only: those that the command can take."""
    default = {"default": "mlp1"} if name.startswith("-") else {"metavar": name.upper()}
    said = f"such as {only} (or mlp2, as the paper has it); with a seed: mlp1/2"
    parser.add_argument(name, help=said, **default).completer = _names


def _names(**_: object) -> list[str]:
    return [folder.name for folder in sorted(_nearest("predictions").glob("*/*"))]


def _nearest(folder: str | Path) -> Path:
    """A folder of results below the one that the command is called in, or else of this checkout."""
    return Path(folder) if Path(folder).is_dir() else ROOT / folder


def add_places(parser: Parser, formats: bool = True) -> None:
    """Where the models are, and the format of the output; formats=False: a command without a table."""
    add = parser.add_argument
    here = "default data/brown, here or in this checkout"
    add("--data", default=_nearest("data/brown"), type=Path, metavar="FOLDER", help=f"preprocessed corpus; {here}")
    tables = "repeated: the first folder that has one; default predictions/table1, then beyond, then later"
    add("--predictions", action="append", type=Path, metavar="FOLDER", help=f"where models are; {tables}")
    classes = "word classes of class-based n-grams; default clusters/brown"
    add("--clusters", default=_nearest("clusters/brown"), type=Path, metavar="FOLDER", help=classes)
    if formats:
        add("--format", default="table", choices=["table", "csv", "json"], help="of the output; default %(default)s")


def add_text(parser: Parser) -> None:
    """The text that a command scores, and how."""
    add = parser.add_argument
    add("file", nargs="?", default="-", metavar="FILE", help="a text; default -, standard input")
    tokens = "the text is tokenised: words apart by white space, a paragraph a line"
    add("--tokens", action="store_true", help=tokens)
    add("--by-line", action="store_true", help="each line is a text of its own, with no words before it; a total")
    add("--raw", action="store_true", help="as the model gives it, without the share for unseen words")
    add("--no-marks", action="store_true", help="the marks after paragraphs and the text are context alone")


def whole_number(least: int):
    """The type of an argument that is a whole number, and not less than `least`."""

    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, at least {least}")
        return int(text)

    return number


class Session:
    """The corpus and the models that the arguments of a command name."""

    def __init__(self, given: argparse.Namespace):
        from pipeline.data.corpus import read_corpus
        from pipeline.models import by_name

        self.given, self._by_name = given, by_name
        first, *others = map(_nearest, by_name.TABLES)
        self.tables = given.predictions or [first, *filter(Path.is_dir, others)]
        if not (given.data / "counts.json").is_file():
            raise InputError(f"no preprocessed corpus in {given.data}: run `make repro`, or give its folder as --data")
        self.corpus = read_corpus(given.data)

    def folder(self, name: str) -> Path:
        """Of a model by name: to say that it is missing before a text is typed and n-grams are counted."""
        return self._by_name.find(name, self.corpus, self.tables)[0]

    def model(self, name: str) -> "LanguageModel":
        """A model by name."""
        return self._by_name.load(name, self.corpus, self.tables, self.given.clusters)

    def features(self, name: str) -> "np.ndarray":
        """C (V, m) of a network by name."""
        from pipeline.data.weights import read_features

        return read_features(self.folder(name))

    def texts(self) -> list[list[str]]:
        """The words of the text, see user_text.words_of; with --by-line of each line that has some."""
        from pipeline.models import user_text

        where = "standard input" if self.given.file == "-" else self.given.file
        try:
            content = _standard_input() if self.given.file == "-" else Path(self.given.file).read_bytes()
            whole = content.decode("utf-8-sig")
            texts = [line for line in whole.split("\n") if line.strip()] if self.given.by_line else [whole]
            return [user_text.words_of(text, self.corpus, self.given.tokens) for text in texts or [whole]]
        except OSError as error:
            raise InputError(f"{where}: {error.strerror or error}") from error
        except UnicodeDecodeError as error:
            raise InputError(f"{where}: not UTF-8; convert it, for example with iconv") from error
        except InputError as error:
            raise InputError(f"{where}: {error}") from error

    def scored(self, name: str, texts: list[list[str]]) -> "list[pd.DataFrame]":
        """The words of each text, scored by a model as --raw and --no-marks ask; see user_text.scored."""
        from pipeline.models import user_text

        model = self.model(name)
        model = model.model if self.given.raw else model
        return [user_text.scored(words, model, self.corpus, not self.given.no_marks) for words in texts]

    @property
    def figures(self) -> str:
        """Of which kind the scores are."""
        return f"{'raw' if self.given.raw else 'with share'}, {'without' if self.given.no_marks else 'with'} marks"

    def show(self, table: "pd.DataFrame", summary: dict | None = None) -> None:
        """The table in the format asked for; the summary below it, or around it in JSON."""
        import pandas as pd

        summary = summary or {}
        if self.given.format == "json":
            whole = {"rows": table.to_dict("records")} | summary
            print(pd.Series(whole).to_json(indent=2, force_ascii=False, double_precision=6))
        elif self.given.format == "csv":
            table.to_csv(sys.stdout, index=False, float_format="%.6f")
            print("".join(f"# {key}: {value}\n" for key, value in summary.items()), end="", file=sys.stderr)
        else:
            if len(table):
                print(table.to_string(index=False, float_format="%.3f"))
            for key, value in summary.items():
                print(f"{key}: {value:,.2f}" if isinstance(value, float) else f"{key}: {value}")


def _standard_input() -> bytes:
    if sys.stdin.isatty():
        print("Type a text; Ctrl-D ends it.", file=sys.stderr)
    return sys.stdin.buffer.read()
