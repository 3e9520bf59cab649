"""A reproduction of *A Neural Probabilistic Language Model* (Bengio, Ducharme, Vincent, Jauvin, JMLR 2003)."""

from pipeline.core.common import threads  # before numpy and torch are imported  # noqa: F401

__version__ = "0.1.0"
