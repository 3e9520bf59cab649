"""Stage preprocess: from the texts of a corpus to ids, splits, vocabulary and counts (paper, section 4).

Texts are read and coded one after the other; what stays in memory is a number a word and the types.
"""

import hashlib
import logging
import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd
from omegaconf import OmegaConf
from tqdm import tqdm

from pipeline import app, store
from pipeline.app import ROOT
from pipeline.core import corpus as text_of
from pipeline.core import evaluation, senate, vocabulary
from pipeline.core.errors import InputError
from pipeline.core.symbols import PARAGRAPH, TEXT
from pipeline.corpora import MARKS, PACKED, CorpusConfig

log = logging.getLogger(__name__)

READERS = {
    "brown": text_of.read_brown,
    "plain": text_of.read_plain,
    "lines": text_of.read_lines,
    "tokens": text_of.read_tokens,
}
LONGEST = 1 << 20  # bytes of a line that are read at a time
# Counts that every preprocessing of the same texts gives, and the keys that change the others.
ALWAYS = ("texts", "paragraphs", "words")
CHANGING = (
    *("marks", "fold", "rare", "size", "proper", "vocabulary_from", "splits", "train", "valid", "test"),
    *("format", "encoding"),
)


@dataclass
class Config:
    """conf/preprocess.yaml."""

    corpus: CorpusConfig
    out: str


def main(config: Config) -> None:
    """Writes vocabulary.txt, train/valid/test.npy, texts.csv and counts.json into config.out."""
    corpus = config.corpus
    types, names, ends = vocabulary.Types(), [], []
    measured = {"texts": 0, "paragraphs": 0, "words": 0, "tokens": 0}
    marks = [MARKS[name] for name in corpus.marks]
    with tqdm(unit="w", unit_scale=True, desc=corpus.name, disable=None) as bar:
        for name, pieces in islice(_texts(corpus), corpus.texts or None):
            before = measured["words"]
            for words in text_of.stream(_counted(pieces, measured), marks):
                types.add(words)
                bar.update(len(words))
            if measured["words"] == before:
                raise InputError(f"{corpus.raw}, {name}: no words in it, or not in the format {corpus.format!r}")
            names.append(name)
            ends.append(types.words)
    if not names:
        raise InputError(f"corpus.raw={corpus.raw}: no usable texts there")
    measured |= {"texts": len(names), "tokens": types.words}
    boundaries = _boundaries(corpus, ends)
    found, codes = types.coded()
    kept, ids, measured["types"] = vocabulary.build(
        found,
        codes[: boundaries[-1]],
        boundaries[1] if corpus.vocabulary_from == "train" else boundaries[-1],
        corpus.rare,
        corpus.size,
        text_of.fold if corpus.fold else None,
        corpus.proper,
    )
    splits = {split: ids[a:b] for split, a, b in zip(store.SPLITS, boundaries[:-1], boundaries[1:], strict=True)}
    measured["vocabulary"] = len(kept)
    _check(corpus, measured | {split: len(part) for split, part in splits.items()})

    unseen = evaluation.unseen_words(splits["train"], len(kept))
    counts = {
        **measured,
        "paper": corpus.paper,
        "format": corpus.format,
        "boundaries": boundaries,
        "marks": {mark: kept.index(mark) for mark in (PARAGRAPH, TEXT) if mark in kept},
        "unknown_rate": {split: float(np.mean(part <= corpus.proper)) for split, part in splits.items()},
        "unseen_words": int(unseen.sum()),
        "unseen_tokens": {split: int(unseen[part].sum()) for split, part in splits.items()},
        "digest": store.digest(*splits.values()),
    }
    texts_table = _text_table(corpus, names, ends, boundaries)
    store.write_corpus(Path(config.out), store.Corpus(kept, **splits, texts=texts_table, counts=counts))
    log.info("%s: %s", corpus.name, ", ".join(f"{value:,} {key}" for key, value in measured.items()))


def _counted(pieces: Iterable[text_of.Piece], measured: dict[str, int]) -> Iterator[text_of.Piece]:
    for words, ends in pieces:
        measured["paragraphs"] += ends
        measured["words"] += len(words)
        yield words, ends


def _texts(corpus: CorpusConfig) -> Iterator[tuple[str, Iterable[text_of.Piece]]]:
    """Name and pieces of each text, in the order of the stream."""
    if corpus.format == "senate":
        yield from _releases(corpus)
        return
    for path in _paths(corpus):
        yield path.name, READERS[corpus.format](_lines(path, corpus.encoding))


def _paths(corpus: CorpusConfig) -> list[Path]:
    """The texts' files: by name, or a file a split."""
    raw = Path(corpus.raw)
    files = sorted(path for path in raw.rglob("*") if path.is_file()) if raw.is_dir() else [raw] * raw.is_file()
    if corpus.by_file:
        chosen = []
        for split in store.SPLITS:
            of_split = [path for path in files if re.fullmatch(corpus.splits[split], path.name)]
            if len(of_split) != 1:
                raise InputError(
                    f"corpus.raw={corpus.raw}: {len(of_split)} files match corpus.splits.{split}="
                    f"{corpus.splits[split]!r}; there must be one"
                )
            chosen += of_split
        return chosen
    paths = [path for path in files if path == raw or re.fullmatch(corpus.files, path.name)]
    if not paths:
        raise InputError(f"corpus.raw={corpus.raw}: no texts there; {_remedy(corpus)}, or give the right place")
    return paths


def _remedy(corpus: CorpusConfig) -> str:
    return f"run `python -m pipeline.download corpus={corpus.name} out={corpus.raw}`"


def _lines(path: Path, encoding: str) -> Iterator[str]:
    """The lines of a file, very long ones in parts. Raises InputError that names what is not of the encoding."""
    number, rest = 1, b""
    with path.open("rb") as file:
        while line := file.readline(LONGEST):
            line, rest = rest + line, b""
            if not line.endswith(b"\n") and len(line) >= LONGEST:  # up to the last word that is whole
                line, rest = line[: line.rfind(b" ") + 1], line[line.rfind(b" ") + 1 :]
            yield _decoded(line, encoding, path, number)
            number += line.endswith(b"\n")
        if rest:
            yield _decoded(rest, encoding, path, number)


def _decoded(line: bytes, encoding: str, path: Path, number: int) -> str:
    try:
        return line.decode("utf-8-sig" if number == 1 and encoding == "utf-8" else encoding)
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}, line {number}: not {encoding.upper()} (byte {line[error.start]:#04x}); convert it, for example "
            "with iconv, or give corpus.encoding"
        ) from error


def _releases(corpus: CorpusConfig) -> Iterator[tuple[str, list[text_of.Piece]]]:
    """The usable press releases of the packed corpus by day, senator and file, each one paragraph, none twice."""
    packed = Path(corpus.raw, PACKED)
    if not packed.is_file():
        raise InputError(f"corpus.raw={corpus.raw}: no {PACKED} there; {_remedy(corpus)}")
    with zipfile.ZipFile(packed) as archive:
        dated = sorted(filter(None, map(senate.origin, archive.namelist())))
        seen: set[bytes] = set()
        for _, senator, name in dated:
            text = " ".join(senate.decoded(archive.read(name), corpus.encoding).split())
            words, digest = senate.words_of(text), hashlib.sha256(text.encode()).digest()
            if digest not in seen and senate.usable(words):
                seen.add(digest)
                yield f"{senator}/{Path(name).stem}", [(words, True)]


def _boundaries(corpus: CorpusConfig, ends: list[int]) -> list[int]:
    """Where the splits begin and end: [0, train, train + valid, train + valid + test]."""
    if corpus.by_file:
        return [0, *ends]
    tokens = ends[-1]
    sizes = [int(size if size >= 1 else size * tokens) for size in (corpus.train, corpus.valid, corpus.test)]
    result = [0, sizes[0], sizes[0] + sizes[1], sum(sizes) if corpus.test else tokens]
    if not 0 < result[1] < result[2] < result[3] <= tokens:
        raise InputError(
            f"corpus.train={corpus.train:g}, corpus.valid={corpus.valid:g} and corpus.test={corpus.test:g} leave a "
            f"split empty or ask for too much: the stream has {tokens:,} tokens"
        )
    return result


def _check(corpus: CorpusConfig, measured: dict[str, int]) -> None:
    """Compares with the counts that these texts must give; of other choices than the shipped ones, those that stay."""
    shipped = ROOT / "conf" / "corpus" / f"{corpus.name}.yaml"
    if corpus.texts or not shipped.is_file():
        return
    values = OmegaConf.load(shipped)
    changed = any(key in values and getattr(corpus, key) != values[key] for key in CHANGING)
    for key, value in (corpus.expected or {}).items():
        if measured[key] != value and (key in ALWAYS or not changed):
            raise InputError(
                f"{corpus.raw}: {measured[key]:,} {key} where the {corpus.name} corpus has {value:,}; download it "
                "again, or, if other texts or choices are meant, set corpus.expected=null"
            )


def _text_table(corpus: CorpusConfig, names: list[str], ends: list[int], boundaries: list[int]) -> pd.DataFrame:
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
