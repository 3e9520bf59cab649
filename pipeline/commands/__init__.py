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
from pipeline.data.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from pipeline.data.corpus import Corpus
    from pipeline.models.model import Model
    from pipeline.models.tokeniser import Tokeniser


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


def score_texts(given: argparse.Namespace, *names: str) -> "pd.DataFrame":
    """The words of the text, or with --by-line of each line that has some, as models score them.

    A line a word: text and place, counted from 1, before (four words), word, mark, unknown; and by the name of each
    model its natural-log probability, as --raw and --no-marks ask.
    """
    import pandas as pd

    models, parts = open_models(given, *names), []
    for number, words in enumerate(_read_texts(given, models[0].tokeniser), start=1):
        scored = [model.score_words(words) for model in models]
        before = [" ".join(words[max(0, place - 4) : place]) for place in range(len(words))]
        part = scored[0][["word", "mark", "unknown"]].assign(text=number, place=range(1, len(words) + 1), before=before)
        log_p = [each["raw" if given.raw else "log_probability"] for each in scored]
        parts.append(part.assign(**dict(zip(names, log_p, strict=True))))
    table = pd.concat(parts, ignore_index=True)
    return table[~table["mark"]] if given.no_marks else table


def _read_texts(given: argparse.Namespace, tokeniser: "Tokeniser") -> list[list[str]]:
    where = "standard input" if given.file == "-" else given.file
    try:
        whole = (_standard_input() if given.file == "-" else Path(given.file).read_bytes()).decode("utf-8-sig")
        lines = [line for line in whole.split("\n") if line.strip()] if given.by_line else []
        return [tokeniser.words(text, given.tokens) for text in lines or [whole]]
    except OSError as error:
        raise InputError(f"{where}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: not UTF-8; convert it, for example with iconv") from error
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


def _standard_input() -> bytes:
    if sys.stdin.isatty():
        print("Type a text; Ctrl-D ends it.", file=sys.stderr)
    return sys.stdin.buffer.read()


def figures(given: argparse.Namespace) -> str:
    """Of which kind the scores are."""
    return f"{'raw' if given.raw else 'with share'}, {'without' if given.no_marks else 'with'} marks"


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
