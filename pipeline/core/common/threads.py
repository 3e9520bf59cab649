"""One thread a process, set before numpy and torch are imported: which numbers are summed first decides the last bits.

Models run side by side instead, and `dvc repro` and `make repro` give the same bits. Only a training with
parallel=threads takes more (training/train.py).
"""

import os

for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"
