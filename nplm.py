"""The models of this project in Python.

    import nplm

    mlp1 = nplm.load("mlp1")
    mlp1.next("It was one of", k=5)   # the likeliest next words and their probabilities
    mlp1.score("The jury said so.")   # a line a word: its log-probability, raw and with share
    mlp1.perplexity("novel.txt")      # of a text in a file
    mlp1.features("Monday")           # C of a word, of networks
    mlp1.neighbours("Monday", k=5)    # the words with features most like its own

`nplm.load` names what it takes; `make repro` makes the models. It works from any folder.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.config.base import ROOT
from pipeline.core.common.evaluation import perplexity
from pipeline.data.corpus import Corpus, read_corpus
from pipeline.data.errors import InputError
from pipeline.data.weights import read_features
from pipeline.models import by_name, neighbours, user_text

__all__ = ["InputError", "Model", "load"]


class Model:
    """A language model with its vocabulary. Logarithms are natural. For a word that the vocabulary does not hold its
    symbol answers, `<unk>`, and it is marked as unknown."""

    def __init__(self, name: str, corpus: Corpus, folder: Path, model: by_name.Treated):
        self.name, self.corpus, self.folder, self._model = name, corpus, folder, model

    def __repr__(self) -> str:
        return f"nplm.load({self.name!r})  # {self.folder}"

    def score(self, text: str, tokens: bool = False, marks: bool = True) -> pd.DataFrame:
        """A line a word of a text: word, log_probability (with the share for words that training never shows), raw (as
        the model gives it), unknown.

        tokens: words stand apart by white space, as in a corpus, and a line is a paragraph. marks: score the marks
        after paragraphs and the text too, as in training. Raises InputError where there are no words.
        """
        words = user_text.words_of(text, self.corpus, tokens)
        scored = user_text.scored(words, self._model.model, self.corpus, marks).reset_index(drop=True)
        scored = scored.rename(columns={"log_probability": "raw"})
        ids = user_text.ids_of(scored["word"].tolist(), self.corpus)
        scored.insert(1, "log_probability", self._model.treated(scored["raw"].to_numpy(), ids).astype(float))
        return scored

    def perplexity(self, path: str | Path, tokens: bool = False, raw: bool = False, marks: bool = True) -> float:
        """Of the text in a file, over all its words; with share, or raw."""
        scored = self.score(Path(path).read_text(encoding="utf-8-sig"), tokens, marks)
        return perplexity(scored["raw" if raw else "log_probability"].to_numpy())

    def next(self, text: str = "", k: int = 10) -> pd.DataFrame:
        """The k likeliest words after a text, the likeliest first: word, probability (with share)."""
        before = user_text.ids_of(user_text.start_of(text, self.corpus), self.corpus)
        log_p = self._model.next(np.concatenate([user_text.before(self.corpus), before]))
        best = np.argsort(-log_p, kind="stable")[:k]
        return pd.DataFrame({"word": [self.corpus.vocabulary[i] for i in best], "probability": np.exp(log_p[best])})

    def features(self, word: str) -> np.ndarray:
        """C of a word, (m,), or of its symbol if the vocabulary does not hold it. Raises InputError of an n-gram or a
        mixture, which have none."""
        return read_features(self.folder)[user_text.ids_of([word], self.corpus)[0]]

    def neighbours(self, word: str, k: int = 10, seen: int = 10) -> pd.DataFrame:
        """The k words whose features are most like a word's, among those that occur `seen` times in training or more:
        word, cosine. Raises InputError of a word without features, and of models that have none."""
        return neighbours.neighbours(word, self.folder, self.corpus, k, seen)


def load(
    name: str,
    data: str | Path = ROOT / "data" / "brown",
    predictions: str | Path | None = None,
    clusters: str | Path = ROOT / "clusters" / "brown",
) -> Model:
    """A model by its name: mlp1, mlp1/2 (seed 2), kn5, best-ngram, mlp1-mixed (or mlp2, as the paper has it).

    data: the preprocessed corpus; predictions: the folder of a table's models, by default Table 1's, then those of
    `make beyond` and `make later`; clusters: of the class models. Raises InputError where it is not there, and says
    what is.
    """
    corpus = read_corpus(data)
    tables = [Path(predictions)] if predictions else [ROOT / table for table in by_name.TABLES]
    folder, _ = by_name.find(name, corpus, tables)
    return Model(name, corpus, folder, by_name.load(name, corpus, tables, clusters))
