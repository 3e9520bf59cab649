"""A reproduction of *A Neural Probabilistic Language Model* (Bengio, Ducharme, Vincent, Jauvin, JMLR 2003)."""

import os
import sys

__version__ = "0.1.0"

# One thread a process, set before numpy and torch are imported: models run side by side, and `dvc repro` and `make
# repro` must give the same bits. Only a training with parallel=threads takes more (pipeline/training/processes.py).
for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"

# `python -m pipeline.<stage> --help` is answered here: the stage's own imports, torch among them, take seconds. Python
# imports this package first, with "-m" in the place of the program's name.
if sys.argv[:1] == ["-m"] and {"--help", "-h"} & set(sys.argv):
    from pipeline.running import help

    help.answer_early()


def _stopped(kind: type[BaseException], error: BaseException, trace: object) -> None:
    """Ctrl-C while a stage still imports what it needs, which takes seconds, is one line, as it is later."""
    if issubclass(kind, KeyboardInterrupt):
        print("error: stopped", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


if sys.argv[:1] == ["-m"]:
    sys.excepthook = _stopped
