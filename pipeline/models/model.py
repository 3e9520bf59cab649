"""A language model with its corpus: what commands, the server and `import nplm` ask."""

import sys
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.config.base import ROOT
from pipeline.core.beyond.nearest import nearest
from pipeline.core.common import evaluation
from pipeline.core.common.errors import InputError
from pipeline.data.corpus import Corpus, read_corpus
from pipeline.data.files import read_json
from pipeline.data.weights import read_features
from pipeline.models import by_name
from pipeline.models.tokeniser import Tokeniser

_EXPLAINED: set[str] = set()  # what this process has said already


class Model:
    """A language model with its vocabulary. Logarithms are natural. For a word that the vocabulary does not hold its
    symbol answers, `<unk>`, and it is marked as unknown."""

    def __init__(self, name: str, corpus: Corpus, tables: Sequence[Path], clusters: Path):
        self.name, self.corpus = name, corpus
        self.folder, _ = by_name.find(name, corpus, tables)
        self._tables, self._clusters = tables, clusters

    def __repr__(self) -> str:
        return f"nplm.load({self.name!r})  # {self.folder}"

    @cached_property
    def raw(self) -> by_name.LanguageModel:
        """The model of ids, without the share. It is loaded, or counted, when first asked."""
        return by_name.load(self.name, self.corpus, self._tables, self._clusters)

    @cached_property
    def tokeniser(self) -> Tokeniser:
        """From a text to ids of the corpus."""
        return Tokeniser(self.corpus)

    def score(self, text: str, tokens: bool = False, marks: bool = True) -> pd.DataFrame:
        """A line a word of a text: word, log_probability (with the share for words that training never shows), raw (as
        the model gives it), unknown.

        tokens: words stand apart by white space, as in a corpus, and a line is a paragraph. marks: score the marks
        after paragraphs and the text too, as in training. Raises InputError where there are no words.
        """
        scored = self.score_words(self.tokeniser.words(text, tokens))
        return (scored if marks else scored[~scored["mark"]]).drop(columns="mark").reset_index(drop=True)

    def score_words(self, words: list[str]) -> pd.DataFrame:
        """The same of a text's words, as the tokeniser gives them, and whether each is a mark."""
        ids = self.tokeniser.ids(words)
        raw = self.raw.log_probabilities(self.tokeniser.before, ids)
        log_p = {"log_probability": self.with_share(raw, ids).astype(float), "raw": raw.astype(float)}
        scored = pd.DataFrame({"word": words} | log_p | {"unknown": self.tokeniser.unknown[ids]})
        return scored.assign(mark=scored["word"].isin(self.tokeniser.marks))

    def perplexity(self, path: str | Path, tokens: bool = False, raw: bool = False, marks: bool = True) -> float:
        """Of the text in a file, over all its words; with share, or raw."""
        scored = self.score(Path(path).read_text("utf-8-sig", errors="surrogateescape"), tokens, marks)
        return evaluation.perplexity(scored["raw" if raw else "log_probability"].to_numpy())

    def next(self, text: str = "", k: int = 10) -> pd.DataFrame:
        """The k likeliest words after a text, the likeliest first: word, probability (with share)."""
        self.explain()
        log_p = self.distribution(self.tokeniser.ids(self.tokeniser.beginning(text)))
        best = np.argsort(-log_p, kind="stable")[:k]
        return pd.DataFrame({"word": [self.corpus.vocabulary[i] for i in best], "probability": np.exp(log_p[best])})

    def explain(self) -> None:
        """Says on standard error, once a process, what to know of the words that a model gives."""
        if self.tokeniser.note and self.tokeniser.note not in _EXPLAINED:
            _EXPLAINED.add(self.tokeniser.note)
            print(self.tokeniser.note, file=sys.stderr)

    def distribution(self, ids: np.ndarray) -> np.ndarray:
        """Log-probability (V,), with share, of each word of the vocabulary after the beginning (T,) of a text."""
        every = np.arange(len(self.corpus.vocabulary))
        return self.with_share(self.raw.next(np.concatenate([self.tokeniser.before, ids])), every)

    def features(self, word: str) -> np.ndarray:
        """C of a word, (m,), or of its symbol if the vocabulary does not hold it. Raises InputError of an n-gram or a
        mixture, which have none."""
        return read_features(self.folder)[self.tokeniser.ids([word])[0]]

    def neighbours(self, word: str, k: int = 10, seen: int = 10) -> pd.DataFrame:
        """The k words whose features are most like a word's, among those that occur `seen` times in training or more:
        word, cosine. Raises InputError of a word without features, and of models that have none."""
        vocabulary, (folded,) = self.corpus.vocabulary, self.tokeniser.folded([word])
        if folded not in vocabulary:
            alike = ", ".join(repr(each) for each in vocabulary if each.lower() == word.lower())
            why = f"; {alike} is" if alike else ": it is too rare there, or another spelling"
            raise InputError(f"{word!r} is not in the vocabulary of this corpus{why}")
        times = np.bincount(self.corpus.train, minlength=len(vocabulary))
        place = vocabulary.index(folded)
        if not times[place]:
            raise InputError(f"{word!r} never occurs in training, so it has learned no features")
        ids, cosines = nearest(read_features(self.folder), place, k, times >= seen)
        self.explain()
        return pd.DataFrame({"word": [vocabulary[i] for i in ids], "cosine": cosines.astype(float)})

    @cached_property
    def _share(self) -> tuple[np.ndarray, float]:
        """Of which words it is, a mask (V,), and how much."""
        return self.corpus.unseen, read_json(self.folder / "metrics.json")["share"]

    def with_share(self, raw: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """What the model itself gave some ids (T,), with the share."""
        return evaluation.apply_share(raw, ids, *self._share)


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
    tables = [Path(predictions)] if predictions else [ROOT / table for table in by_name.TABLES]
    return Model(name, read_corpus(data), tables, Path(clusters))
