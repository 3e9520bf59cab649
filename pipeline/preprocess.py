"""Stage preprocess: from the texts of a corpus to ids, splits, vocabulary and counts (paper, section 4)."""

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline import app, store
from pipeline.core import corpus as text_of
from pipeline.core import evaluation, vocabulary
from pipeline.core.errors import InputError
from pipeline.core.symbols import PARAGRAPH, TEXT
from pipeline.corpora import READERS, CorpusConfig

log = logging.getLogger(__name__)


@dataclass
class Config:
    """conf/preprocess.yaml."""

    corpus: CorpusConfig
    out: str


def main(config: Config) -> None:
    """Writes vocabulary.txt, train/valid/test.npy, texts.csv and counts.json into config.out."""
    corpus = config.corpus
    names, texts = zip(*_texts(corpus), strict=True)
    words, ends = text_of.stream(texts)
    measured = {
        "texts": len(texts),
        "paragraphs": sum(map(len, texts)),
        "words": sum(len(paragraph) for text in texts for paragraph in text),
        "tokens": len(words),
    }
    if corpus.fold:
        words = text_of.fold(words)
    boundaries = _boundaries(corpus, len(words))
    counted = boundaries[1] if corpus.vocabulary_from == "train" else len(words)
    kept, ids, measured["types"] = vocabulary.build(words, corpus.rare, counted)
    measured["vocabulary"] = len(kept)
    _check(corpus, measured)

    splits = {split: ids[a:b] for split, a, b in zip(store.SPLITS, boundaries[:-1], boundaries[1:], strict=True)}
    unseen = evaluation.unseen_words(splits["train"], len(kept))
    counts = {
        **measured,
        "paper": corpus.paper,
        "boundaries": boundaries,
        "marks": {mark: kept.index(mark) for mark in (PARAGRAPH, TEXT)},
        "unknown_rate": {split: float(np.mean(part == 0)) for split, part in splits.items()},
        "unseen_words": int(unseen.sum()),
        "unseen_tokens": {split: int(unseen[part].sum()) for split, part in splits.items()},
        "digest": store.digest(*splits.values()),
    }
    texts_table = _text_table(corpus, names, ends, boundaries)
    store.write_corpus(Path(config.out), store.Corpus(kept, **splits, texts=texts_table, counts=counts))
    log.info("%s: %s", corpus.name, ", ".join(f"{value:,} {key}" for key, value in measured.items()))


def _texts(corpus: CorpusConfig) -> Iterator[tuple[str, list[text_of.Paragraph]]]:
    """Name and paragraphs of each text in order of name."""
    raw = Path(corpus.raw)
    if raw.is_dir():
        paths = [path for path in sorted(raw.iterdir()) if re.fullmatch(corpus.files, path.name)]
    else:
        paths = [raw] if raw.is_file() else []
    if not paths:
        raise InputError(f"corpus.raw={corpus.raw}: no texts there; run `dvc repro download`, or give the right place")
    for path in paths[: corpus.texts or None]:
        paragraphs = READERS[corpus.format](_decode(path))
        if not paragraphs:
            raise InputError(f"{path}: no words in it, or not in the format {corpus.format!r}")
        yield path.name, paragraphs


def _decode(path: Path) -> str:
    """The text of a UTF-8 file."""
    content = path.read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}, line {line}: not UTF-8 (byte {content[error.start]:#04x}); convert it, for example with iconv"
        ) from error


def _boundaries(corpus: CorpusConfig, tokens: int) -> list[int]:
    """Where the splits begin and end: [0, train, train + valid, tokens]."""
    sizes = [int(size if size >= 1 else size * tokens) for size in (corpus.train, corpus.valid)]
    result = [0, sizes[0], sum(sizes), tokens]
    if not 0 < result[1] < result[2] < result[3]:
        raise InputError(
            f"corpus.train={corpus.train:g} and corpus.valid={corpus.valid:g} leave a split empty: "
            f"the stream has {tokens:,} tokens"
        )
    return result


def _check(corpus: CorpusConfig, measured: dict[str, int]) -> None:
    """Compares with the counts that these texts must give. Options that change a count take it out of the check."""
    plain = not corpus.fold and not corpus.texts
    holds = {
        "types": plain,
        "vocabulary": plain and corpus.rare == 3 and corpus.vocabulary_from == "stream",
    }
    for key, value in corpus.expected.items():
        if holds.get(key, not corpus.texts) and measured[key] != value:
            raise InputError(f"{corpus.raw}: {measured[key]:,} {key} where the {corpus.name} corpus has {value:,}")


def _text_table(corpus: CorpusConfig, names: tuple[str, ...], ends: list[int], boundaries: list[int]) -> pd.DataFrame:
    """name, genre, first (token), end, split: a text that lies in two splits has a row in each."""
    rows = []
    for name, first, end in zip(names, [0, *ends[:-1]], ends, strict=True):
        genre = corpus.genres.get(name.rstrip("0123456789"), "")
        for split, low, high in zip(store.SPLITS, boundaries[:-1], boundaries[1:], strict=True):
            if max(first, low) < min(end, high):
                rows.append((name, genre, max(first, low), min(end, high), split))
    return pd.DataFrame(rows, columns=["name", "genre", "first", "end", "split"])


if __name__ == "__main__":
    app.run("preprocess", Config, main)
