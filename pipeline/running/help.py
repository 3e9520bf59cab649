"""`python -m pipeline.<stage> --help`: what the stage does, examples, and every key with its type, value and comment.

pipeline/running/keys.py says where it is read. Hydra's own help lists every group of conf/ and no comment.
"""

import ast
import shutil
import sys
import textwrap
from collections.abc import Sequence

from pipeline.data.errors import InputError
from pipeline.running.keys import ROOT, Key, groups, keys, names, optional_groups, read

COLUMN = 36  # where types and comments begin
LONGEST = 60  # characters of a value that are shown


def wanted(arguments: Sequence[str]) -> bool:
    """Whether a command line asks for help."""
    return not {"--help", "-h"}.isdisjoint(arguments)


def answer(stage: str, arguments: Sequence[str]) -> int:
    """Prints the help of a stage, or the one line that says what is wrong; what the process then ends with."""
    try:
        print(text(stage, arguments))
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def answer_early() -> None:
    """Ends the process with the help of the stage that `python -m` is about to import, if it is one."""
    stage = sys.orig_argv[sys.orig_argv.index("-m") + 1].removeprefix("pipeline.")
    if (ROOT / "conf" / f"{stage}.yaml").is_file():
        sys.exit(answer(stage, sys.argv[1:]))


def text(stage: str, arguments: Sequence[str] = ()) -> str:
    """The help of a stage. arguments: of the command line; `recipe=paper` shows that file's values.

    Raises InputError for a group that has no file of that name.
    """
    width = min(shutil.get_terminal_size((110, 1)).columns, 120)
    said = ast.get_docstring(ast.parse((ROOT / "pipeline" / f"{stage}.py").read_text(encoding="utf-8")))
    head = read(f"{stage}.yaml").head
    parts = [said, "Examples:\n" + "\n".join(f"  {line}" for line in head)]
    chosen = groups(stage, arguments) | dict.fromkeys(optional_groups(stage), "")
    if chosen:
        lines = []
        for group, name in chosen.items():
            first = f"  {'' if name else '+'}{group}=NAME"
            now = f" (now {name})" if name else ""
            lines.append(_columns(first, f"{', '.join(names(group))}{now}", width))
        parts.append("Files to choose from, in conf/<group>:\n" + "\n".join(lines))
    lines = [_columns(_left(key), f"({key.type}) {key.comment}", width) for key in keys(stage, arguments)]
    parts.append("Keys, each with the value that it has unless given, its type and what it is:\n" + "\n".join(lines))
    parts.append("--cfg job: print the configuration of a command. -m: a grid, such as seed=0,1. --hydra-help: more.")
    return "\n\n".join(parts)


def _left(key: Key) -> str:
    """A key and its value as the user writes them; a key of a list's items has no value."""
    value = key.value if len(key.value) <= LONGEST else f"{key.value[: LONGEST - 3]}..."
    return f"  {key.name}={value}" if value else f"  {key.name}"


def _columns(left: str, right: str, width: int) -> str:
    """Two columns, the right one wrapped; a long left one has a line of its own."""
    wrapped = textwrap.wrap(right, max(width - COLUMN, 30), break_on_hyphens=False, break_long_words=False)
    first = [] if len(left) < COLUMN - 1 else [left]
    lines = [" " * COLUMN + line for line in wrapped]
    if not first and lines:
        lines[0] = left.ljust(COLUMN) + wrapped[0]
    return "\n".join(first + lines)
