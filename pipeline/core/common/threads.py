"""One thread per process, set before numpy and torch are imported: the order of a sum decides its last bits.

So `dvc repro` gives the same bits as `make repro`, which runs several models at the same time. Only a training with
parallel=threads uses more threads (training/train.py).
"""

import os

for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"
