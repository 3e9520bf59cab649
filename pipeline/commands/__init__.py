"""The console command `nplm`. Each other file of this folder is one command.

The docstring of a command is its help; the list of commands shows its first paragraph. EXAMPLE is a line of the help.
`arguments(parser)`, if there is one, declares the arguments. `run(options)` does the work and may return an exit code.
A command is imported only when it is called: for the list, the docstrings are read without an import.

This file holds what commands share: arguments, the models of one corpus, output as a table, CSV or JSON. pandas is
imported only where it is used, so that the list of commands appears at once.
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
    """The parser of a command's arguments, or of the list of commands."""

    def __init__(self, **settings):
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **settings)

    def error(self, message: str) -> NoReturn:
        """Prints the error as one line; argparse would print the usage before it."""
        sys.exit(report_error(f"{message}; `{self.prog} --help` shows what to give"))


def report_error(message: str, code: int = 2) -> int:
    """Prints an error as one line, even if a library's message in it has several. Returns the exit code."""
    print(f"error: {' '.join(message.split())}", file=sys.stderr)
    return code


def add_model(parser: Parser, name: str = "model", examples: str = "mlp1, kn5, best-ngram, mlp1-mixed") -> None:
    """Adds a model by its name. examples: models that the command can take."""
    text = f"such as {examples} (or mlp2, as the paper has it); with a seed: mlp1/2"
    parser.add_argument(name, help=text, metavar=name.upper()).completer = _names


def _names(**_: object) -> list[str]:
    return [folder.name for folder in sorted(_nearest("predictions").glob("*/*"))]


def _nearest(folder: str | Path) -> Path:
    """A folder of results in the current folder if there is one, else in this checkout."""
    return Path(folder) if Path(folder).is_dir() else ROOT / folder


def add_places(parser: Parser, formats: bool = True) -> None:
    """Adds the places of the models, and the format of the output; without formats for a command without a table."""
    add = parser.add_argument
    default = "default data/brown, here or in this checkout"
    add("--data", default=_nearest("data/brown"), type=Path, metavar="FOLDER", help=f"preprocessed corpus; {default}")
    tables = "repeated: the first folder that has one; default predictions/table1, then beyond, later, window, cache"
    add("--predictions", action="append", type=Path, metavar="FOLDER", help=f"where models are; {tables}")
    classes = "word classes of class-based n-grams; default clusters/brown"
    add("--clusters", default=_nearest("clusters/brown"), type=Path, metavar="FOLDER", help=classes)
    if formats:
        add("--format", default="table", choices=["table", "csv", "json"], help="of the output; default %(default)s")


def whole_number(minimum: int):
    """The type of an argument that is a whole number of at least `minimum`."""

    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < minimum:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, at least {minimum}")
        return int(text)

    return number


def open_corpus(options: argparse.Namespace) -> "Corpus":
    """The corpus that the arguments of a command name."""
    from pipeline.data.corpus import COUNTS, read_corpus

    if not (options.data / COUNTS).is_file():
        raise InputError(f"no preprocessed corpus in {options.data}: run `make repro`, or give its folder as --data")
    return read_corpus(options.data)


def open_models(options: argparse.Namespace, *names: str) -> "list[Model]":
    """Models of one corpus by their names. Raises InputError at once if one is missing, before a user types a text."""
    from pipeline.models import by_name
    from pipeline.models.model import Model

    corpus = open_corpus(options)
    tables = options.predictions or [_nearest(table) for table in by_name.TABLES]
    return [Model(name, corpus, tables=tables, clusters=options.clusters) for name in names]


def show(options: argparse.Namespace, table: "pd.DataFrame", summary: dict | None = None) -> None:
    """Prints the table in the format of the options. The summary stands below it; in JSON, beside its rows."""
    import pandas as pd

    summary = summary or {}
    if options.format == "json":
        document = {"rows": table.to_dict("records")} | summary
        print(pd.Series(document).to_json(indent=2, force_ascii=False, double_precision=6))
    elif options.format == "csv":
        table.to_csv(sys.stdout, index=False, float_format="%.6f")
        print("".join(f"# {key}: {value}\n" for key, value in summary.items()), end="", file=sys.stderr)
    else:
        if len(table):
            print(table.to_string(index=False, float_format="%.3f"))
        for key, value in summary.items():
            print(f"{key}: {value:,.2f}" if isinstance(value, float) else f"{key}: {value}")
