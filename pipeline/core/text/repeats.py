"""Repeated sentences of a stream: statements sent twice, quotations, boilerplate.

A sentence is repeated if at least half of its words are in runs of `length` words that occurred earlier in the stream.
A model memorises such runs in training, and meets them again in validation and test (Lee and others, "Deduplicating
training data makes language models better", ACL 2022).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from pipeline.core.common.stream import PARAGRAPH, SPLITS, TEXT

ENDS = (".", "!", "?", PARAGRAPH, TEXT)  # of a sentence
SHOWN = 10  # repeated sentences of `examples`
BEGINNING = 6  # words shown of each


@dataclass(frozen=True)
class Stream:
    """Texts, one after the other."""

    types: Sequence[str]  # (V,)
    codes: np.ndarray  # (T,) places in types
    names: Sequence[str]  # (N,) of the texts
    ends: np.ndarray  # (N,) where each text ends

    def merged(self, fold: Callable[[Sequence[str]], list[str]]) -> "Stream":
        """The same texts with types merged by `fold`, for example those that differ in case."""
        code_of, types = pd.factorize(np.asarray(fold(self.types), dtype=object))
        return replace(self, types=list(types), codes=code_of.astype(np.int32)[self.codes])

    def among(self, words: Sequence[str]) -> np.ndarray:
        """Mask (T,) of the places of these words."""
        return np.isin(self.types, words)[self.codes]


def in_earlier_runs(codes: np.ndarray, length: int) -> np.ndarray:
    """Mask (T,) of the words in runs of `length` words that also occurred earlier; the two runs may overlap.

    Exact: runs of 1, 2, 4, ... words, and at last of `length`, are numbered by their pairs of shorter runs, so that
    only equal runs have the same number. codes: (T,) integers from 0, one per type. Memory: about 60 bytes per word.
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


def keep_mask(stream: Stream, length: int) -> np.ndarray:
    """Mask (T,) of the words to keep: those outside repeated sentences, for runs of `length` words.

    A mark stays where at least one word of its paragraph or text stays.
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
    """The stream of the words of the mask `stays` (T,), without the texts that become empty."""
    ends = np.cumsum(stays)[stream.ends - 1]
    nonempty = np.diff(ends, prepend=0) > 0
    names = [name for name, has_words in zip(stream.names, nonempty, strict=True) if has_words]
    return Stream(types=stream.types, codes=stream.codes[stays], names=names, ends=ends[nonempty])


def shares(stays: np.ndarray, boundaries: Sequence[int]) -> dict[str, float]:
    """The share of words that was removed: from the whole stream, and from the part of it that became each split.

    stays: mask (T,); boundaries: of the splits, [0, train, train + valid, train + valid + test], after the removal.
    """
    ends = np.flatnonzero(stays)[np.array(boundaries[1:]) - 1] + 1
    of_split = 1 - np.diff(boundaries) / np.diff(ends, prepend=0)
    return {"stream": 1 - float(stays.mean()), **dict(zip(SPLITS, of_split.tolist(), strict=True))}


def examples(stream: Stream, stays: np.ndarray) -> pd.DataFrame:
    """The sentences whose removal removed the most words.

    stays: mask (T,). Columns: `words` of the sentence; `times` that it was removed; number of `texts` with it;
    `most of`: the folder with most of these texts (a text's name is folder/file); `share` of these texts in that
    folder; `begins`: the first words.
    """
    sentence = _sentences(stream)
    first = np.flatnonzero(np.diff(sentence, prepend=-1))
    first = first[~stays[first] & ~stream.among([PARAGRAPH, TEXT])[first]]
    words = np.bincount(sentence)[sentence[first]]
    codes_of = [stream.codes[start : start + length].tobytes() for start, length in zip(first, words, strict=True)]
    text = np.searchsorted(stream.ends, first, side="right")
    folder = [stream.names[number].split("/")[0] for number in text]
    removed = pd.DataFrame({"codes": codes_of, "text": text, "folder": folder})
    times_of = removed["codes"].value_counts()
    most = (times_of * times_of.index.str.len()).nlargest(SHOWN).index
    lines = []
    for packed, times in times_of[most].items():
        texts = removed[removed["codes"] == packed].drop_duplicates("text")
        folders = texts["folder"].value_counts(normalize=True)
        codes = np.frombuffer(packed, stream.codes.dtype)
        beginning = " ".join(stream.types[code] for code in codes[:BEGINNING])
        lines.append([len(codes), times, len(texts), folders.index[0], folders.iloc[0], beginning])
    return pd.DataFrame(lines, columns=["words", "times", "texts", "most of", "share", "begins"])


def _sentences(stream: Stream) -> np.ndarray:
    """The number (T,) of each word's sentence; the sign or mark that ends a sentence belongs to it."""
    last = stream.among(ENDS)
    return np.cumsum(last) - last
