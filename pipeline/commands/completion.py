"""Tab completion of `nplm`, by argcomplete: verbs, options, models, the keys of stages and the files that they take.

`eval "$(register-python-argcomplete nplm)"` turns it on in a shell.
"""

import argparse
import os
from collections.abc import Iterator
from importlib import import_module

import argcomplete

from pipeline.commands.command import PLACES
from pipeline.running.keys import names, optional_groups, settable, stages

NAMES_MODELS = ("model", "a", "b")  # the arguments that are the name of a model


def answer(verbs: dict[str, str]) -> None:
    """Tells the shell, and ends the process. verbs: of the command, with what each does."""
    words = os.environ["COMP_LINE"].split()
    parser = argparse.ArgumentParser("nplm")
    chosen = parser.add_subparsers()
    for verb in verbs:
        part = chosen.add_parser(verb)
        if words[1:2] == [verb]:  # the others' modules need not be imported
            import_module(f"pipeline.commands.{verb}").arguments(part)
            for action in part._actions:
                if action.dest in NAMES_MODELS:
                    action.completer = _models
    for stage in stages():
        part = chosen.add_parser(stage)
        part.add_argument("overrides", nargs="*").completer = lambda prefix, stage=stage, **_: _overrides(stage, prefix)
    argcomplete.autocomplete(parser)


def _models(**_: object) -> list[str]:
    return [folder.name for place in PLACES for folder in sorted(place.glob("*"))]


def _overrides(stage: str, prefix: str) -> Iterator[str]:
    """What may stand in the place of a word: keys and groups with "=", or after a group's the names of its files."""
    group, given, _ = prefix.lstrip("+").partition("=")
    if given:
        yield from (f"{prefix.partition('=')[0]}={name}" for name in names(group))
        return
    yield from (f"+{optional}=" for optional in optional_groups(stage))
    yield from (f"{name}=" for name in settable(stage))
