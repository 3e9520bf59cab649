"""`nplm COMMAND ...` runs the file of that name in this folder. A user's mistake ends it with a message of one line.

`python -m pipeline.commands COMMAND ...` does the same with the code of the current folder. `nplm STAGE KEY=VALUE ...`
is `python -m pipeline.STAGE KEY=VALUE ...`. `nplm A --then B` runs A and, if A ends well, B in the same process:
imports take longer than most stages of a small corpus. In a shell, Tab completes commands and keys after
`eval "$(register-python-argcomplete nplm)"`.
"""

import ast
import os
import runpy
import sys
from argparse import REMAINDER
from importlib import import_module
from pathlib import Path

from pipeline import end_imports, print_anything
from pipeline.commands import Parser, report_error
from pipeline.config import groups, help
from pipeline.config.base import ROOT, check_checkout
from pipeline.config.check import STAGES
from pipeline.core.common.errors import InputError

DESCRIPTION = f"""What can be done with the models that `make repro` has made.

`nplm COMMAND --help` shows the arguments of a command, with an example. `nplm STAGE KEY=VALUE ...` runs a stage of the
pipeline, `nplm STAGE --help` shows its keys: {", ".join(STAGES)}. `nplm A --then B` does both, in one process."""

THEN = "--then"


def parsers(name: str) -> tuple[Parser, dict[str, Parser]]:
    """The parser of `nplm`, and the parsers of the commands by name. Only the command `name` gets its arguments."""
    overview = Parser(prog="nplm", description=DESCRIPTION, epilog="example:\n  nplm score kn5 novel.txt")
    commands = overview.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for file in sorted(Path(__file__).parent.glob("[!_]*.py")):
        docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
        summary = " ".join(docstring.split("\n\n")[0].split()).replace("%", "%%")
        parser = commands.add_parser(file.stem, help=summary, description=docstring)
        if file.stem == name:
            module = import_module(f"pipeline.commands.{name}")
            parser.epilog = f"example:\n  {module.EXAMPLE}"
            if hasattr(module, "arguments"):
                module.arguments(parser)
            parser.set_defaults(run=module.run)
    return overview, commands.choices


def main(words: list[str] | None = None) -> int:
    """The exit code: 0; 1 where verify finds a difference; 2 for a mistake of the user's; 130 for Ctrl-C."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # one text gains nothing by more
    words = sys.argv[1:] if words is None else words
    if THEN in words:
        first = words.index(THEN)
        return main(words[:first]) or main(words[first + 1 :])
    print_anything()
    end_imports()
    try:
        check_checkout()
        if words[:1] and words[0] in STAGES:
            return _stage(words[0], words[1:])
        completing = "_ARGCOMPLETE" in os.environ  # the shell asks which words may follow
        command_line = os.environ["COMP_LINE"].split()[1:] if completing else words
        name = command_line[0] if command_line else ""
        overview, by_name = parsers(name)
        if completing:
            _complete(overview)
        # intermixed: options may stand anywhere
        options = by_name[name].parse_intermixed_args(words[1:]) if name in by_name else overview.parse_args(words)
        code = options.run(options)
        sys.stdout.flush()
        return code or 0
    except KeyboardInterrupt as stop:
        return report_error("; ".join(["stopped", *map(str, stop.args)]), 130)
    except BrokenPipeError:  # the reader, such as `head`, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains when it ends
        return 0
    except (InputError, OSError) as error:  # OSError: a full disk, a folder that can't be read
        from pipeline.running.messages import lines

        return report_error(lines(error))


def _stage(stage: str, words: list[str]) -> int:
    """Runs a stage as `python -m` does; its own exit code ends the process."""
    if {"--help", "-h"} & set(words):
        return help.answer(stage, words)
    sys.argv = [stage, *words]
    runpy.run_module(f"pipeline.{stage}", run_name="__main__", alter_sys=True)
    return 0


def _complete(overview: Parser) -> None:
    """Prints the completions for the shell and ends the process. Hydra knows the completions of a stage."""
    import argcomplete
    from hydra._internal.config_loader_impl import ConfigLoaderImpl
    from hydra._internal.core_plugins.bash_completion import BashCompletion
    from hydra._internal.utils import create_config_search_path

    def overrides(prefix: str, stage: str) -> list[str]:
        loader = ConfigLoaderImpl(create_config_search_path(str(ROOT / "conf")))
        return BashCompletion(loader)._query(config_name=stage, line=prefix)

    groups.register()
    commands = overview._subparsers._group_actions[0]
    for stage in STAGES:
        argument = commands.add_parser(stage, add_help=False).add_argument("overrides", nargs=REMAINDER)
        argument.completer = lambda prefix, stage=stage, **_: overrides(prefix, stage)
    argcomplete.autocomplete(overview)


if __name__ == "__main__":
    sys.exit(main())
