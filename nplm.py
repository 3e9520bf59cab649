"""The models of this project in Python.

    import nplm

    mlp1 = nplm.load("mlp1")
    mlp1.next("It was one of", k=5)   # the likeliest next words and their probabilities
    mlp1.score("The jury said so.")   # a line a word: its log-probability, raw and corrected for unseen words
    mlp1.perplexity("novel.txt")      # of a text in a file
    mlp1.features("Monday")           # C of a word, of networks
    mlp1.neighbours("Monday", k=5)    # the words with features most like its own

`nplm.load` names what it takes; `make repro` makes the models. It works from any folder.
"""

from pipeline.config.base import ROOT, check_checkout
from pipeline.core.common.errors import InputError
from pipeline.models.model import Model, load

check_checkout()

__all__ = ["ROOT", "InputError", "Model", "load"]
