"""A reproduction of *A Neural Probabilistic Language Model* (Bengio, Ducharme, Vincent, Jauvin, JMLR 2003)."""

import os

__version__ = "0.1.0"

# One thread a process, set before numpy is imported: models run side by side, and `dvc repro` and `make repro` must
# give the same bits.
for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")
