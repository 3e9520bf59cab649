"""Stage preprocess: from the texts of a corpus to ids, splits, vocabulary and counts (paper, section 4).

Texts are read and coded one after the other; what stays in memory is a number a word and the types.
"""

import logging
import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from hydra.core.hydra_config import HydraConfig
from tqdm import tqdm

from pipeline import app, store
from pipeline.core import corpus as text_of
from pipeline.core import evaluation, senate, vocabulary
from pipeline.core.errors import InputError
from pipeline.core.symbols import PARAGRAPH, TEXT
from pipeline.corpora import MARKS, PACKED, CorpusConfig

log = logging.getLogger(__name__)

READERS = {
    "brown": text_of.brown_paragraphs,
    "plain": text_of.plain_paragraphs,
    "tokens": text_of.tokenised_paragraphs,
}
# Keys that change the counts of a corpus.
CHANGING = (
    *("format", "encoding", "marks", "texts", "fold", "rare", "size", "proper", "vocabulary_from"),
    *("splits", "train", "valid", "test"),
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
        for name, paragraphs in _texts(corpus):
            before = types.words
            for words in text_of.stream(_counted(paragraphs, measured), marks):
                types.add(words)
                bar.update(len(words))
            if types.words == before:
                raise InputError(f"{corpus.raw}, {name}: no words in it, or not in the format {corpus.format!r}")
            names.append(name)
            ends.append(types.words)
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
    measured["vocabulary"] = len(kept)
    _check(corpus, measured)

    splits = {split: ids[a:b] for split, a, b in zip(store.SPLITS, boundaries[:-1], boundaries[1:], strict=True)}
    unseen = evaluation.unseen_words(splits["train"], len(kept))
    counts = {
        **measured,
        "paper": corpus.paper,
        "boundaries": boundaries,
        "marks": {mark: kept.index(mark) for mark in (PARAGRAPH, TEXT) if mark in kept},
        "unknown_rate": {split: float(np.mean(part == 0)) for split, part in splits.items()},
        "unseen_words": int(unseen.sum()),
        "unseen_tokens": {split: int(unseen[part].sum()) for split, part in splits.items()},
        "digest": store.digest(*splits.values()),
    }
    texts_table = _text_table(corpus, names, ends, boundaries)
    store.write_corpus(Path(config.out), store.Corpus(kept, **splits, texts=texts_table, counts=counts))
    log.info("%s: %s", corpus.name, ", ".join(f"{value:,} {key}" for key, value in measured.items()))


def _counted(paragraphs: Iterable[text_of.Paragraph], measured: dict[str, int]) -> Iterator[text_of.Paragraph]:
    for paragraph in paragraphs:
        measured["paragraphs"] += 1
        measured["words"] += len(paragraph)
        yield paragraph


def _texts(corpus: CorpusConfig) -> Iterator[tuple[str, Iterable[text_of.Paragraph]]]:
    """Name and paragraphs of each text, in the order of the stream."""
    if corpus.format == "senate":
        yield from _releases(corpus)
        return
    for path in _paths(corpus)[: corpus.texts or None]:
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
        raise InputError(f"corpus.raw={corpus.raw}: no texts there; run `dvc repro download`, or give the right place")
    return paths


def _lines(path: Path, encoding: str) -> Iterator[str]:
    """The lines of a file. Raises InputError that names the one that is not of the encoding."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                yield line.decode("utf-8-sig" if number == 1 and encoding == "utf-8" else encoding)
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{path}, line {number}: not {encoding.upper()} (byte {line[error.start]:#04x}); convert it, for "
                    "example with iconv, or give corpus.encoding"
                ) from error


def _releases(corpus: CorpusConfig) -> Iterator[tuple[str, list[text_of.Paragraph]]]:
    """The usable press releases of the packed corpus by day, senator and file, each one paragraph, none twice."""
    packed = Path(corpus.raw, PACKED)
    if not packed.is_file():
        raise InputError(f"corpus.raw={corpus.raw}: no {PACKED} there; download the corpus first")
    with zipfile.ZipFile(packed) as archive:
        dated = sorted(filter(None, map(senate.origin, archive.namelist())))
        seen: set[str] = set()
        for _, senator, name in dated[: corpus.texts or None]:
            text = " ".join(archive.read(name).decode(corpus.encoding).split())
            words = senate.words_of(text)
            if text not in seen and senate.usable(words):
                seen.add(text)
                yield f"{senator}/{Path(name).stem}", [words]


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
    """Compares with the counts that these texts must give, unless the command asks for something else of them."""
    overrides = {override.lstrip("+~").split("=")[0] for override in HydraConfig.get().overrides.task}
    if corpus.texts or overrides & {f"corpus.{key}" for key in CHANGING}:
        return
    for key, value in corpus.expected.items():
        if measured[key] != value:
            raise InputError(f"{corpus.raw}: {measured[key]:,} {key} where the {corpus.name} corpus has {value:,}")


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
