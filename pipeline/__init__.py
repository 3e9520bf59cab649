"""A reproduction of *A Neural Probabilistic Language Model* (Bengio, Ducharme, Vincent, Jauvin, JMLR 2003)."""

__version__ = "0.1.0"
