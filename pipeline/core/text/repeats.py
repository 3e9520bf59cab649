"""Sentences that a stream has said before, word for word: statements sent twice, quotations, boilerplate.

A sentence is repeated if half or more of its words lie in runs of so many words that stood earlier in the stream. A
model that stores such runs has them by heart, in validation and test as in training (Lee and others, "Deduplicating
training data makes language models better", ACL 2022).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from pipeline.core.common.stream import PARAGRAPH, SPLITS, TEXT

ENDS = (".", "!", "?", PARAGRAPH, TEXT)  # of a sentence
SHOWN = 10  # repeated sentences of `examples`
BEGINNING = 6  # words of each


@dataclass(frozen=True)
class Stream:
    """Texts one after the other."""

    types: Sequence[str]  # (V,)
    codes: np.ndarray  # (T,) places in types
    names: Sequence[str]  # (N,) of the texts
    ends: np.ndarray  # (N,) where each text ends

    def merged(self, fold: Callable[[Sequence[str]], list[str]]) -> "Stream":
        """The same texts with types merged as `fold` says, such as those that differ in case."""
        code_of, types = pd.factorize(np.asarray(fold(self.types), dtype=object))
        return replace(self, types=list(types), codes=code_of.astype(np.int32)[self.codes])

    def among(self, words: Sequence[str]) -> np.ndarray:
        """Mask (T,) of where one of these words stands."""
        return np.isin(self.types, words)[self.codes]


def in_earlier_runs(codes: np.ndarray, length: int) -> np.ndarray:
    """Mask (T,) of the words that lie in a run of `length` words that stood earlier too, perhaps overlapping it.

    Exact: runs of 1, 2, 4, ... words, and at last of `length`, get a number each, that of a pair of shorter ones, so
    that only equal runs share it. codes: (T,) integers from 0, a number a type. Memory: some 60 bytes a word.
    """
    inside = np.zeros(len(codes) + 1, dtype=np.int32)
    if len(codes) >= length:
        run, size = codes, 1  # the number of the run of `size` words that begins at each place
        while size < length:
            shift = min(size, length - size)
            pairs = run[:-shift].astype(np.int64)
            pairs *= int(run.max()) + 1
            pairs += run[shift:]
            run, size = pd.factorize(pairs)[0].astype(np.int32), size + shift
        repeated = pd.Series(run).duplicated().to_numpy()
        inside[: len(repeated)] += repeated
        inside[length : length + len(repeated)] -= repeated
    return np.cumsum(inside[:-1]) > 0


def kept(stream: Stream, length: int) -> np.ndarray:
    """Mask (T,) of what stays of a stream without the sentences that runs of `length` words show to be repeated.

    A mark stays where a word stays of the paragraph or text that it ends.
    """
    sentence, mark = _sentences(stream), stream.among([PARAGRAPH, TEXT])
    words = np.bincount(sentence, ~mark)
    repeated = np.bincount(sentence, in_earlier_runs(stream.codes, length) & ~mark)
    stays = (2 * repeated < words)[sentence] & ~mark
    before = np.cumsum(stays)
    for symbol in (PARAGRAPH, TEXT):
        places = np.flatnonzero(stream.among([symbol]))
        stays[places] = np.diff(before[places], prepend=0) > 0
    return stays


def without(stream: Stream, stays: np.ndarray) -> Stream:
    """What stays of a stream; texts of which nothing stays are gone."""
    ends = np.cumsum(stays)[stream.ends - 1]
    there = np.diff(ends, prepend=0) > 0
    names = [name for name, each in zip(stream.names, there, strict=True) if each]
    return Stream(stream.types, stream.codes[stays], names, ends[there])


def shares(stays: np.ndarray, boundaries: Sequence[int]) -> dict[str, float]:
    """The share removed of the whole stream, and of the stretch that each split is taken from.

    boundaries: of the splits, [0, train, train + valid, train + valid + test], in what stays.
    """
    ends = np.flatnonzero(stays)[np.array(boundaries[1:]) - 1] + 1
    of_split = 1 - np.diff(boundaries) / np.diff(ends, prepend=0)
    return {"stream": 1 - float(stays.mean()), **dict(zip(SPLITS, of_split.tolist(), strict=True))}


def examples(stream: Stream, stays: np.ndarray) -> pd.DataFrame:
    """The sentences by whose removal most words went: how many `words` each has, how many `times` and from how many
    `texts` it was removed, whose texts most of these are (`most of`: the folder of a text's name) and what `share` of
    them, and its first words.
    """
    sentence = _sentences(stream)
    first = np.flatnonzero(np.diff(sentence, prepend=-1))
    first = first[~stays[first] & ~stream.among([PARAGRAPH, TEXT])[first]]
    words = np.bincount(sentence)[sentence[first]]
    said = [stream.codes[start : start + length].tobytes() for start, length in zip(first, words, strict=True)]
    text = np.searchsorted(stream.ends, first, side="right")
    removed = pd.DataFrame({"said": said, "text": text, "of": [stream.names[each].split("/")[0] for each in text]})
    times_of = removed["said"].value_counts()
    most = (times_of * times_of.index.str.len()).nlargest(SHOWN).index
    lines = []
    for each, times in times_of[most].items():
        texts = removed[removed["said"] == each].drop_duplicates("text")
        folders = texts["of"].value_counts(normalize=True)
        codes = np.frombuffer(each, stream.codes.dtype)
        beginning = " ".join(stream.types[code] for code in codes[:BEGINNING])
        lines.append([len(codes), times, len(texts), folders.index[0], folders.iloc[0], beginning])
    return pd.DataFrame(lines, columns=["words", "times", "texts", "most of", "share", "begins"])


def _sentences(stream: Stream) -> np.ndarray:
    """The number (T,) of each word's sentence; what ends it is part of it."""
    last = stream.among(ENDS)
    return np.cumsum(last) - last
