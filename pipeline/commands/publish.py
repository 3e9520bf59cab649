"""MLflow's store as the results of a checkout say it should be.

Each result below predictions/, clusters/ and features/ is a run, whether it was computed here or restored by DVC, with
what the stage itself logs. A run that the stage has logged is not logged again. A grid whose table lies in reports/ is
a run with one for each job below it. Of Brown's models, networks with seed 0 and the best n-gram become models that
`mlflow models serve` serves; the best by validation is registered as `nplm`, alias `best`. To repeat it changes
nothing. A second publish of one checkout waits for the first; two machines that publish into one server at a time know
nothing of each other.
"""

import argparse
from pathlib import Path

from filelock import FileLock

from pipeline.commands import Parser
from pipeline.config.base import ROOT
from pipeline.core.common.errors import InputError
from pipeline.running import tracking

EXAMPLE = "nplm publish --models mlp9 best-ngram"


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("--root", default=ROOT, type=Path, metavar="FOLDER", help="the checkout to publish; default that of this code")
    add("--models", nargs="*", metavar="NAME", help="only these become models, without a name none; default all")


def run(given: argparse.Namespace) -> None:
    """Prints what is in the store afterwards."""
    from pipeline.models import published

    try:
        with FileLock(ROOT / "mlflow.db.publish.lock"):
            published.publish(given.root.resolve(), given.models)
    except published.STORE_ERRORS as error:
        again = "what was published stays, repeat the command to go on"
        raise InputError(f"publishing stopped: {tracking.line(error)}; {again}") from error
