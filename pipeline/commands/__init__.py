"""What a user does with models: the console command `nplm`. Each other file here is one command.

A command's docstring is its help, whose first sentence the list of commands shows; EXAMPLE is a line of the help;
`arguments(parser)` declares what it takes, if anything; `run(given)` does it, and may give an exit code. A command is
imported when it is called; the list reads docstrings alone.

Here is what commands share: arguments, the models of one corpus, output as a table, CSV or JSON. The list does not wait
for pandas, so it is imported where it is used.
"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from pipeline.config.base import ROOT
from pipeline.core.common.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from pipeline.data.corpus import Corpus
    from pipeline.models.model import Model


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
    """A model by its name; only: those that the command can take."""
    said = f"such as {only} (or mlp2, as the paper has it); with a seed: mlp1/2"
    parser.add_argument(name, help=said, metavar=name.upper()).completer = _names


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
    tables = "repeated: the first folder that has one; default predictions/table1, then beyond, later, window, cache"
    add("--predictions", action="append", type=Path, metavar="FOLDER", help=f"where models are; {tables}")
    classes = "word classes of class-based n-grams; default clusters/brown"
    add("--clusters", default=_nearest("clusters/brown"), type=Path, metavar="FOLDER", help=classes)
    if formats:
        add("--format", default="table", choices=["table", "csv", "json"], help="of the output; default %(default)s")


def whole_number(least: int):
    """The type of an argument that is a whole number, and not less than `least`."""

    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, at least {least}")
        return int(text)

    return number


def open_corpus(given: argparse.Namespace) -> "Corpus":
    """The corpus that the arguments of a command name."""
    from pipeline.data.corpus import COUNTS, read_corpus

    if not (given.data / COUNTS).is_file():
        raise InputError(f"no preprocessed corpus in {given.data}: run `make repro`, or give its folder as --data")
    return read_corpus(given.data)


def open_models(given: argparse.Namespace, *names: str) -> "list[Model]":
    """Models of one corpus by their names. Raises InputError of one that is missing before a text is typed."""
    from pipeline.models import by_name
    from pipeline.models.model import Model

    corpus, tables = open_corpus(given), given.predictions or [_nearest(table) for table in by_name.TABLES]
    return [Model(name, corpus, tables, given.clusters) for name in names]


def show(given: argparse.Namespace, table: "pd.DataFrame", summary: dict | None = None) -> None:
    """The table in the format asked for; the summary below it, or around it in JSON."""
    import pandas as pd

    summary = summary or {}
    if given.format == "json":
        whole = {"rows": table.to_dict("records")} | summary
        print(pd.Series(whole).to_json(indent=2, force_ascii=False, double_precision=6))
    elif given.format == "csv":
        table.to_csv(sys.stdout, index=False, float_format="%.6f")
        print("".join(f"# {key}: {value}\n" for key, value in summary.items()), end="", file=sys.stderr)
    else:
        if len(table):
            print(table.to_string(index=False, float_format="%.3f"))
        for key, value in summary.items():
            print(f"{key}: {value:,.2f}" if isinstance(value, float) else f"{key}: {value}")
