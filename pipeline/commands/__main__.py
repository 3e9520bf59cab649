"""`nplm COMMAND ...`: calls the file of that name in this folder, and ends a mistake of the user's in one line.

`python -m pipeline.commands COMMAND ...` is the same, and takes the code of the folder that it is called in. `nplm
STAGE KEY=VALUE ...` is `python -m pipeline.STAGE KEY=VALUE ...`. In a shell, Tab completes all of it after
`eval "$(register-python-argcomplete nplm)"`.
"""

import os
import runpy
import sys
from argparse import REMAINDER
from importlib import import_module
from pkgutil import iter_modules

from pipeline import commands
from pipeline.commands import Parser, failed
from pipeline.config import help
from pipeline.config.base import ROOT
from pipeline.config.stages import STAGES
from pipeline.core.common.errors import UnusableError
from pipeline.data.errors import InputError, print_anything

DESCRIPTION = f"""What can be done with the models that `make repro` has made.

`nplm COMMAND --help` shows the arguments of a command, with an example. `nplm STAGE KEY=VALUE ...` runs a stage of the
pipeline, `nplm STAGE --help` shows its keys: {", ".join(STAGES)}."""


def parsers() -> tuple[Parser, dict[str, Parser]]:
    """The parser of `nplm`, and those of the commands by their names."""
    overview = Parser(prog="nplm", description=DESCRIPTION, epilog="example:\n  nplm score kn5 novel.txt")
    listed = overview.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in sorted(module.name for module in iter_modules(commands.__path__) if module.name != "__main__"):
        module = import_module(f"pipeline.commands.{name}")
        does, example = module.__doc__.split("\n\n")[0].replace("%", "%%"), f"example:\n  {module.EXAMPLE}"
        parser = listed.add_parser(name, help=" ".join(does.split()), description=module.__doc__, epilog=example)
        module.arguments(parser)
        parser.set_defaults(run=module.run)
    return overview, listed.choices


def main(words: list[str] | None = None) -> int:
    """The exit code: 0; 1 where verify finds a difference; 2 for a mistake of the user's; 130 for Ctrl-C."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # one text gains nothing by more
    words = sys.argv[1:] if words is None else words
    print_anything()
    try:
        if words[:1] and words[0] in STAGES:
            return _stage(words[0], words[1:])
        overview, by_name = parsers()
        if "_ARGCOMPLETE" in os.environ:  # the shell asks what may stand at the cursor
            _complete(overview)
        chosen = by_name.get(words[0]) if words else None
        # intermixed: options may stand anywhere
        given = chosen.parse_intermixed_args(words[1:]) if chosen else overview.parse_args(words)
        code = given.run(given)
        sys.stdout.flush()
        return code or 0
    except KeyboardInterrupt as stop:
        return failed("; ".join(["stopped", *map(str, stop.args)]), 130)
    except BrokenPipeError:  # the reader, such as `head`, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains when it ends
        return 0
    except (InputError, UnusableError, OSError) as error:  # the last: a full disk, a folder that can't be read
        from pipeline.running.messages import lines

        return failed(lines(error))


def _stage(stage: str, words: list[str]) -> int:
    """Runs a stage as `python -m` does; its own exit code ends the process."""
    if {"--help", "-h"} & set(words):
        return help.answer(stage, words)
    sys.argv = [stage, *words]
    runpy.run_module(f"pipeline.{stage}", run_name="__main__", alter_sys=True)
    return 0


def _complete(overview: Parser) -> None:
    """Tells the shell and ends the process. What a stage takes is Hydra's to say."""
    import argcomplete
    from hydra._internal.config_loader_impl import ConfigLoaderImpl
    from hydra._internal.core_plugins.bash_completion import BashCompletion
    from hydra._internal.utils import create_config_search_path

    def overrides(prefix: str, stage: str) -> list[str]:
        loader = ConfigLoaderImpl(create_config_search_path(str(ROOT / "conf")))
        return BashCompletion(loader)._query(config_name=stage, line=prefix)

    listed = overview._subparsers._group_actions[0]
    for stage in STAGES:
        words = listed.add_parser(stage, add_help=False).add_argument("overrides", nargs=REMAINDER)
        words.completer = lambda prefix, stage=stage, **_: overrides(prefix, stage)
    argcomplete.autocomplete(overview)


if __name__ == "__main__":
    sys.exit(main())
