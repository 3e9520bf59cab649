"""A language model with its corpus, as commands, the server and `import nplm` use it."""

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
from pipeline.data.predictions import read_metrics
from pipeline.data.weights import read_features
from pipeline.models import by_name
from pipeline.models.tokeniser import Tokeniser

_EXPLAINED: set[str] = set()  # the notes that this process has printed


class Model:
    """A language model with its vocabulary. Logarithms are natural. A word that is not in the vocabulary is scored as
    the symbol `<unk>` and marked as unknown."""

    def __init__(self, name: str, corpus: Corpus, tables: Sequence[Path], clusters: Path):
        self.name = name
        self.corpus = corpus
        self.folder, _ = by_name.find(name, corpus, tables)
        self._tables = tables
        self._clusters = clusters

    def __repr__(self) -> str:
        return f"nplm.load({self.name!r})  # {self.folder}"

    @cached_property
    def raw(self) -> by_name.LanguageModel:
        """The model over ids, uncorrected for unseen words. It is loaded, or counted, at its first use."""
        return by_name.load(self.name, self.corpus, tables=self._tables, clusters=self._clusters)

    @cached_property
    def tokeniser(self) -> Tokeniser:
        """Turns a text into words and ids of the corpus."""
        return Tokeniser(self.corpus)

    def score(self, text: str, tokens: bool = False, marks: bool = True) -> pd.DataFrame:
        """A row for each word of a text: word, log_probability (corrected for unseen words), raw (uncorrected, as the
        model gives it), unknown.

        tokens: the text is tokenised: white space separates words, and a line is a paragraph. marks: whether the marks
        after paragraphs and the text are scored too, as in training. Raises InputError if the text has no words.
        """
        scored = self.score_words(self.tokeniser.words(text, tokens))
        return (scored if marks else scored[~scored["mark"]]).drop(columns="mark").reset_index(drop=True)

    def score_words(self, words: list[str]) -> pd.DataFrame:
        """As score, for the words that the tokeniser made of a text; a further column, mark, says whether a word is a
        mark."""
        ids = self.tokeniser.ids(words)
        raw = self.raw.log_probabilities(self.tokeniser.before, ids)
        log_p = {"log_probability": self.correct(raw, ids).astype(float), "raw": raw.astype(float)}
        scored = pd.DataFrame({"word": words} | log_p | {"unknown": self.tokeniser.unknown[ids]})
        return scored.assign(mark=scored["word"].isin(self.tokeniser.marks))

    def log_probabilities(self, texts: list[list[str]]) -> list[np.ndarray]:
        """Natural-log probability (T,), corrected for unseen words, of the words of each of several texts, as the
        tokeniser made them."""
        ids = [self.tokeniser.ids(words) for words in texts]
        raw = by_name.log_probabilities_of_texts(self.raw, self.tokeniser.before, ids) if ids else []
        return [self.correct(log_p, text) for log_p, text in zip(raw, ids, strict=True)]

    def perplexity(self, path: str | Path, tokens: bool = False, raw: bool = False, marks: bool = True) -> float:
        """The perplexity of the text in a file, over all its words; raw: uncorrected for unseen words.

        Raises InputError if there is no such file.
        """
        if not Path(path).is_file():
            raise InputError(f"{str(path)[:60]!r} is no file; `score` takes a text itself")
        scored = self.score(Path(path).read_text("utf-8-sig", errors="surrogateescape"), tokens, marks)
        return evaluation.perplexity(scored["raw" if raw else "log_probability"].to_numpy())

    def next(self, text: str = "", k: int = 10) -> pd.DataFrame:
        """The k likeliest words after a text, the likeliest first: word, probability (corrected for unseen words)."""
        self.explain()
        log_p = self.distribution(self.tokeniser.ids(self.tokeniser.beginning(text)))
        best = np.argsort(-log_p, kind="stable")[:k]
        return pd.DataFrame({"word": [self.corpus.vocabulary[i] for i in best], "probability": np.exp(log_p[best])})

    def explain(self) -> None:
        """Prints a note about the words that a model gives to standard error, once per process."""
        if self.tokeniser.note and self.tokeniser.note not in _EXPLAINED:
            _EXPLAINED.add(self.tokeniser.note)
            print(self.tokeniser.note, file=sys.stderr)

    def distribution(self, ids: np.ndarray) -> np.ndarray:
        """Log-probability (V,), corrected for unseen words, of each word after the beginning (T,) of a text."""
        all_ids = np.arange(len(self.corpus.vocabulary))
        return self.correct(self.raw.next(np.concatenate([self.tokeniser.before, ids])), all_ids)

    def features(self, word: str) -> np.ndarray:
        """The features C (m,) of a word, or of its symbol if it is not in the vocabulary. Raises InputError for an
        n-gram or a mixture, which have no features."""
        return read_features(self.folder)[self.tokeniser.ids([word])[0]]

    def neighbours(self, word: str, k: int = 10, min_count: int = 10) -> pd.DataFrame:
        """The k words whose features are most like a word's, among those that occur at least `min_count` times in
        training: word, cosine. Raises InputError for a word without features, and for models without features."""
        vocabulary = self.corpus.vocabulary
        (folded,) = self.tokeniser.folded([word])
        if folded not in vocabulary:
            spellings = ", ".join(repr(entry) for entry in vocabulary if entry.lower() == word.lower())
            hint = f"; {spellings} is" if spellings else ": it is too rare there, or another spelling"
            raise InputError(f"{word!r} is not in the vocabulary of this corpus{hint}")
        counts = np.bincount(self.corpus.train, minlength=len(vocabulary))
        word_id = vocabulary.index(folded)
        if not counts[word_id]:
            raise InputError(f"{word!r} never occurs in training, so it has learned no features")
        features = read_features(self.folder)
        ids, cosines = nearest(features, word=word_id, count=k, among=counts >= min_count)
        self.explain()
        return pd.DataFrame({"word": [vocabulary[i] for i in ids], "cosine": cosines.astype(float)})

    @cached_property
    def _correction(self) -> float:
        """The weight e of the correction for unseen words, fitted on validation."""
        return read_metrics(self.folder)["correction"]

    def correct(self, raw: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """The log-probabilities (T,) of some ids (T,), corrected for unseen words. raw: as the model gives them."""
        return evaluation.apply_correction(raw, ids, unseen=self.corpus.unseen, correction=self._correction)


def load(
    name: str,
    data: str | Path = ROOT / "data" / "brown",
    predictions: str | Path | None = None,
    clusters: str | Path = ROOT / "clusters" / "brown",
) -> Model:
    """A model by its name: mlp1, mlp1/2 (seed 2), kn5, best-ngram, mlp1-mixed (or mlp2, as the paper calls it).

    data: the preprocessed corpus; predictions: the folder of a table's models, by default the first of by_name.TABLES
    that has the model; clusters: the word classes of class models. Raises InputError if there is no such model; the
    message lists the existing models.
    """
    tables = [Path(predictions)] if predictions else [ROOT / table for table in by_name.TABLES]
    return Model(name, read_corpus(data), tables=tables, clusters=Path(clusters))
