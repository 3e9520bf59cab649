"""`nplm VERB ...`: finds the module of the verb, and ends a mistake of the user's in one line.

`python -m pipeline.commands VERB ...` is the same, and takes the code of the folder that it is called in. `nplm STAGE
KEY=VALUE ...` is `python -m pipeline.STAGE KEY=VALUE ...`.
"""

import os
import runpy
import sys
from importlib import import_module

from pipeline.commands.command import Parser, failed
from pipeline.data.errors import InputError
from pipeline.running import help
from pipeline.running.keys import stages

VERBS = {
    "score": "how likely a text is, word by word",
    "generate": "text from a model, word by word",
    "neighbours": "the words whose features are most like a word's",
    "compare": "the words of a text where two models differ most",
    "export": "a network's word features for other tools",
    "ui": "MLflow's pages of the runs",
    "publish": "MLflow's store from the results, with models to load and serve",
    "costs": "what the stages that ran here took, for the page",
    "verify": "whether a run's perplexities are those of the committed table",
}
DESCRIPTION = "\n".join(
    [
        "What can be done with the models that `make repro` has made.\n",
        *(f"  {verb:<12}{does}" for verb, does in VERBS.items()),
        "\n`nplm VERB --help` shows the arguments of a verb, with an example. `nplm STAGE KEY=VALUE ...` runs a stage "
        f"of the\npipeline, `nplm STAGE --help` shows its keys: {', '.join(stages())}.",
    ]
)


def main(words: list[str] | None = None) -> int:
    """The exit code: 0; 1 where verify finds a difference; 2 for a mistake of the user's; 130 for Ctrl-C."""
    if "_ARGCOMPLETE" in os.environ:  # the shell asks what may stand at the cursor
        from pipeline.commands import completion

        completion.answer(VERBS)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # one text gains nothing by more
    words = sys.argv[1:] if words is None else words
    try:
        if words[:1] and words[0] in stages():
            return _stage(words[0], words[1:])
        overview = Parser("nplm", DESCRIPTION, "nplm score kn5 novel.txt")
        overview.add_argument("verb", choices=VERBS, metavar="VERB", help="one of the above")
        verb = overview.parse_args(words[:1]).verb
        module = import_module(f"pipeline.commands.{verb}")
        parser = Parser(f"nplm {verb}", module.__doc__, module.EXAMPLE)
        module.arguments(parser)
        code = module.run(parser.parse_intermixed_args(words[1:]))
        sys.stdout.flush()
        return code or 0
    except InputError as error:
        return failed(str(error))
    except KeyboardInterrupt as stop:
        return failed("; ".join(["stopped", *map(str, stop.args)]), 130)
    except BrokenPipeError:  # the reader, such as `head`, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains when it ends
        return 0
    except OSError as error:  # a full disk, a folder that can't be read
        from pipeline.running.app import said_of_the_machine

        return failed(said_of_the_machine(error))


def _stage(stage: str, words: list[str]) -> int:
    """Runs a stage as `python -m` does; its own exit code ends the process."""
    if help.wanted(words):
        return help.answer(stage, words)
    sys.argv = [stage, *words]
    runpy.run_module(f"pipeline.{stage}", run_name="__main__", alter_sys=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
