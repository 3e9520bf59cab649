"""From the texts of a corpus to ids, vocabulary, splits and counts (paper, section 4).

Texts are read and coded one after the other. Only the types, and one integer per word, stay in memory.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import islice

import numpy as np
import pandas as pd

from pipeline.core.common.errors import InputError, MissingTextError, Watcher
from pipeline.core.common.settings import CorpusSettings
from pipeline.core.common.stream import PARAGRAPH, SPLITS, TEXT, digest
from pipeline.core.text import repeats, vocabulary
from pipeline.core.text.pieces import Piece, fold, stream

MARKS = {"paragraph": PARAGRAPH, "text": TEXT}  # by name in conf/corpus


@dataclass(frozen=True)
class Built:
    """A corpus."""

    vocabulary: list[str]  # place = id
    splits: dict[str, np.ndarray]  # ids (T,) int32 by split
    texts: pd.DataFrame  # name, genre, first (token), end, split; a text in two splits has a row for each
    counts: dict
    measured: dict[str, int]  # of the counts, the sizes of the corpus


def reader(name: str):
    """The module that reads a format of corpora; no other reader is imported."""
    return import_module(f"pipeline.core.readers.{name}")


def build(corpus: CorpusSettings, watch: Watcher) -> Built:
    """The corpus of conf/corpus. Raises InputError where its texts are not what the settings say."""
    original, measured = _read(corpus, watch)
    texts, removed = original, {}
    if corpus.drop_repeats:
        folded = original.merged(fold) if corpus.fold else original  # the words as a model gets them
        keep_mask = repeats.keep_mask(folded, corpus.drop_repeats)
        texts = repeats.without(original, keep_mask)
        removed["sentences"] = repeats.examples(folded, keep_mask).to_dict("records")
        if any(corpus.splits.values()) and len(texts.names) < len(original.names):
            raise InputError(f"corpus.drop_repeats={corpus.drop_repeats}: nothing stays of one of the three files")
    measured["tokens"] = len(texts.codes)
    boundaries = _boundaries(corpus, texts.ends.tolist())
    if removed:
        removed["shares"] = repeats.shares(keep_mask, boundaries)
    words, ids, measured["types"] = vocabulary.build(
        types=texts.types,
        codes=texts.codes[: boundaries[-1]],
        counted=boundaries[1] if corpus.vocabulary_from == "train" else boundaries[-1],
        rare=corpus.rare,
        size=corpus.size,
        fold=fold if corpus.fold else None,
        proper=corpus.proper,
    )
    splits = {split: ids[a:b] for split, a, b in zip(SPLITS, boundaries[:-1], boundaries[1:], strict=True)}
    measured["vocabulary"] = len(words)

    frequency = {split: vocabulary.frequencies(part, len(words)) for split, part in splits.items()}  # of each word
    unseen, unknown = frequency["train"] == 0, slice(1 + corpus.proper)
    counts = {
        **measured,
        "paper": corpus.paper,
        "format": corpus.format,
        "boundaries": boundaries,
        "marks": {mark: words.index(mark) for mark in (PARAGRAPH, TEXT) if mark in words},
        "unknown_rate": {split: float(part[unknown].sum() / part.sum()) for split, part in frequency.items()},
        "unseen_words": int(unseen.sum()),
        "unseen_tokens": {split: int(part[unseen].sum()) for split, part in frequency.items()},
        "digest": digest(*splits.values()),
        **({"normalised": True} if corpus.normalise else {}),
        **({"removed": removed} if removed else {}),
    }
    return Built(words, splits, _text_table(corpus, texts, boundaries), counts, measured)


def _read(corpus: CorpusSettings, watch: Watcher) -> tuple[repeats.Stream, dict[str, int]]:
    """The stream of all texts, and the numbers of its texts, paragraphs and words."""
    types, names, ends = vocabulary.Types(), [], []
    measured = {"texts": 0, "paragraphs": 0, "words": 0, "tokens": 0}
    marks = [MARKS[name] for name in corpus.marks]
    for name, pieces in islice(reader(corpus.format).texts(corpus, watch), corpus.texts or None):
        before = measured["words"]
        for words in stream(_counted(pieces, measured), marks):
            types.add(words)
        if measured["words"] == before:
            raise InputError(f"{name}: no words in it, or not in the format {corpus.format!r}")
        names.append(name)
        ends.append(types.words)
    if not names:
        raise MissingTextError("no usable texts there")
    measured["texts"] = len(names)
    for key, value in (corpus.expected or {}).items():  # before sentences are removed
        if measured[key] != value and not corpus.texts:
            raise InputError(
                f"{measured[key]:,} {key} where this corpus has {value:,}; download it again, or, if other texts are "
                "meant, set corpus.expected=null"
            )
    type_list, codes = types.coded()
    for mark in reversed(marks):
        # A mark that stands only at the end, such as that of a single text, is left out: training never shows it.
        if type_list[codes[-1]] == mark and np.count_nonzero(codes == codes[-1]) == 1:
            codes = codes[:-1]
            ends[-1] -= 1
    return repeats.Stream(types=type_list, codes=codes, names=names, ends=np.array(ends)), measured


def _counted(pieces: Iterable[Piece], measured: dict[str, int]) -> Iterator[Piece]:
    for words, ends in pieces:
        measured["paragraphs"] += ends
        measured["words"] += len(words)
        yield words, ends


def _boundaries(corpus: CorpusSettings, ends: list[int]) -> list[int]:
    """The places where the splits begin and end: [0, train, train + valid, train + valid + test]."""
    if any(corpus.splits.values()):
        return [0, *ends]
    tokens, sizes = ends[-1], (corpus.train, corpus.valid, corpus.test)  # below 1: a share of the stream
    train, valid, test = (int(size if size >= 1 else size * tokens) for size in sizes)
    result = [0, train, train + valid, train + valid + test if corpus.test else tokens]
    if not 0 < result[1] < result[2] < result[3] <= tokens:
        raise InputError(
            f"corpus.train={corpus.train:g}, corpus.valid={corpus.valid:g} and corpus.test={corpus.test:g} leave a "
            f"split empty or ask for too much: the stream has {tokens:,} tokens"
        )
    return result


def _text_table(corpus: CorpusSettings, texts: repeats.Stream, boundaries: list[int]) -> pd.DataFrame:
    """See Built.texts."""
    rows, ends = [], texts.ends.tolist()
    for name, first, end in zip(texts.names, [0, *ends[:-1]], ends, strict=True):
        genre = corpus.genres.get(name.rstrip("0123456789"), "")
        for split, low, high in zip(SPLITS, boundaries[:-1], boundaries[1:], strict=True):
            if max(first, low) < min(end, high):
                rows.append((name, genre, max(first, low), min(end, high), split))
    return pd.DataFrame(rows, columns=["name", "genre", "first", "end", "split"])
