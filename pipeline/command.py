"""What the commands on models share: arguments, text to ids, output as a table, CSV or JSON."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import torch

from pipeline import store, usertext
from pipeline.app import exit_code
from pipeline.core.errors import InputError
from pipeline.models import Model, load


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
        self.arguments = self.parser.parse_args()
        torch.set_num_threads(1)
        try:
            self.corpus = store.read_corpus(self.arguments.data)
            main(self.arguments)
        except InputError as error:
            sys.exit(exit_code(str(error)))
        except BrokenPipeError:  # the reader, such as `head`, has had enough
            sys.stderr.close()

    def model(self, name: str) -> Model:
        """A model by name."""
        return load(name, self.corpus, self.arguments.predictions, self.arguments.clusters)

    def words_of(self, file: str, tokens: bool = False) -> list[str]:
        """The words of a text file, `-`: standard input; see usertext.words_of."""
        text = sys.stdin.read() if file == "-" else _read(Path(file))
        try:
            return usertext.words_of(text, self.corpus, tokens)
        except InputError as error:
            raise InputError(f"{file}: {error}") from error

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


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8; convert it, for example with iconv") from error
