"""Brings MLflow's store in line with the results of a checkout.

Each result below predictions/, clusters/ and features/ becomes a run, whether it was computed here or restored by DVC.
The run holds what the stage itself logs; a run that the stage has logged is not logged again. A grid whose table is in
reports/ becomes a run with one run per job below it, in an experiment of such grids alone (nplm-brown-searches). Of
Brown's models, the networks with seed 0 and the best n-gram become models for `mlflow models serve`; the best of them
on validation is registered as `nplm`, alias `best`. To publish again changes nothing. A second publish of one checkout
waits for the first. Two machines that publish into one server at the same time do not wait for each other.
"""

import argparse
from pathlib import Path

from pipeline.commands import Parser
from pipeline.config.base import ROOT
from pipeline.core.common.errors import InputError
from pipeline.running import backlog, tracking

EXAMPLE = "nplm publish --models mlp9 best-ngram"


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("--root", default=ROOT, type=Path, metavar="FOLDER", help="the checkout to publish; default that of this code")
    add("--models", nargs="*", metavar="NAME", help="only these become models, without a name none; default all")


def run(options: argparse.Namespace) -> None:
    """Publishes, and prints what the store holds then."""
    from pipeline.models import published

    try:
        with backlog.lock():
            published.publish(options.root.resolve(), options.models)
    except published.STORE_ERRORS as error:
        advice = "what was published stays, repeat the command to go on"
        raise InputError(f"publishing stopped: {tracking.line(error)}; {advice}") from error
