"""What the commands on models share: arguments, text to ids, output as a table, CSV or JSON."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from pipeline.commands import user_text
from pipeline.commands.models import Model, check_corpus, load
from pipeline.data.corpus import read_corpus
from pipeline.data.errors import InputError
from pipeline.networks.saved import folder_of, read_features
from pipeline.running.app import exit_code


class Command:
    """A command line on the models of one corpus."""

    def __init__(self, name: str, description: str):
        self.parser = argparse.ArgumentParser(
            prog=f"python -m pipeline.{name}",
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.parser.add_argument("--data", default="data/brown", type=Path, help="what preprocess wrote")
        self.parser.add_argument("--predictions", default="predictions", type=Path, help="where models are")
        self.parser.add_argument("--clusters", default="clusters", type=Path, help="where word classes are")
        self.parser.add_argument("--format", default="table", choices=["table", "csv", "json"], help="of the output")

    def run(self, main: Callable[[argparse.Namespace], None]) -> None:
        """Parses and calls main; a mistake of the user's ends in one line and exit code 2."""
        self.arguments = self.parser.parse_intermixed_args()
        torch.set_num_threads(1)
        try:
            self.corpus = read_corpus(self.arguments.data)
            main(self.arguments)
        except InputError as error:
            sys.exit(exit_code(str(error)))
        except BrokenPipeError:  # the reader, such as `head`, has had enough
            sys.stderr.close()

    def model(self, name: str) -> Model:
        """A model by name."""
        return load(name, self.corpus, self.arguments.predictions, self.arguments.clusters)

    def features(self, name: str) -> np.ndarray:
        """C (V, m) of a network by name."""
        folder = folder_of(name, self.arguments.predictions)
        check_corpus(folder, self.corpus)
        return read_features(folder)

    def words_of(self, file: str, tokens: bool = False) -> list[str]:
        """The words of a text file, `-`: standard input; see user_text.words_of."""
        where = "standard input" if file == "-" else file
        try:
            content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
            return user_text.words_of(content.decode("utf-8-sig"), self.corpus, tokens)
        except OSError as error:
            raise InputError(f"{where}: {error.strerror or error}") from error
        except UnicodeDecodeError as error:
            raise InputError(f"{where}: not UTF-8; convert it, for example with iconv") from error
        except InputError as error:
            raise InputError(f"{where}: {error}") from error

    def show(self, table: pd.DataFrame, summary: dict | None = None) -> None:
        """The table in the format asked for; the summary below it, or around it in JSON."""
        chosen = self.arguments.format
        if chosen == "json":
            whole = {"rows": table.to_dict("records")} | (summary or {})
            print(pd.Series(whole).to_json(indent=2, force_ascii=False, double_precision=6))
        elif chosen == "csv":
            table.to_csv(sys.stdout, index=False, float_format="%.6f")
            print("".join(f"# {key}: {value}\n" for key, value in (summary or {}).items()), end="", file=sys.stderr)
        else:
            print(table.to_string(index=False, float_format="%.3f"))
            for key, value in (summary or {}).items():
                print(f"{key}: {value:,.2f}" if isinstance(value, float) else f"{key}: {value}")


def above_zero(text: str) -> int:
    """An argument that is a whole number above zero."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return int(text)


def not_negative(text: str) -> int:
    """An argument that is a whole number, zero or above."""
    return 0 if text == "0" else above_zero(text)
