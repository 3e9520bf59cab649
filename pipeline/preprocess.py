"""Stage preprocess: from the texts of a corpus to ids, splits, vocabulary and counts (paper, section 4).

Texts are read and coded one after the other; what stays in memory is a number a word and the types.
"""

import hashlib
import io
import logging
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm
from tqdm.utils import CallbackIOWrapper

from pipeline.data.corpus import SPLITS, Corpus, write_corpus
from pipeline.data.errors import InputError
from pipeline.data.files import digest
from pipeline.data.record import Record
from pipeline.data.symbols import PARAGRAPH, TEXT
from pipeline.running import app
from pipeline.text import archives, repeats, senate, vocabulary
from pipeline.text import readers as text_of
from pipeline.text.config import MARKS, PACKED, CorpusConfig

log = logging.getLogger(__name__)

READERS = {
    "brown": text_of.read_brown,
    "plain": text_of.read_plain,
    "lines": text_of.read_lines,
    "tokens": text_of.read_tokens,
}
LONGEST = 1 << 20  # characters of a line that are read at a time, and of a word


@dataclass
class Config:
    """conf/preprocess.yaml."""

    corpus: CorpusConfig
    out: str
    timing: str


def main(config: Config) -> None:
    """Writes vocabulary.txt, train/valid/test.npy, texts.csv and counts.json into config.out."""
    corpus = config.corpus
    types, names, ends = vocabulary.Types(), [], []
    measured = {"texts": 0, "paragraphs": 0, "words": 0, "tokens": 0}
    marks = [MARKS[name] for name in corpus.marks]
    with tqdm(unit="B", unit_scale=True, desc=corpus.name, disable=None) as bar:
        for name, pieces in islice(_texts(corpus, bar), corpus.texts or None):
            before = measured["words"]
            for words in text_of.stream(_counted(pieces, measured), marks):
                types.add(words)
            if measured["words"] == before:
                raise InputError(f"{corpus.raw}, {name}: no words in it, or not in the format {corpus.format!r}")
            names.append(name)
            ends.append(types.words)
    if not names:
        raise InputError(f"corpus.raw={corpus.raw}: no usable texts there")
    measured["texts"] = len(names)
    _check(corpus, measured)
    stream = whole = repeats.Stream(*types.coded(), names, np.array(ends))
    removed = {}
    if corpus.drop_repeats:
        read = whole.merged(text_of.fold) if corpus.fold else whole  # as models read it
        stays = repeats.kept(read, corpus.drop_repeats)
        stream, removed["sentences"] = repeats.without(whole, stays), repeats.examples(read, stays).to_dict("records")
        if corpus.by_file and len(stream.names) < len(names):
            raise InputError(f"corpus.drop_repeats={corpus.drop_repeats}: nothing stays of one of the three files")
    measured["tokens"] = len(stream.codes)
    boundaries = _boundaries(corpus, stream.ends.tolist())
    if removed:
        removed["shares"] = repeats.shares(stays, boundaries)
    words, ids, measured["types"] = vocabulary.build(
        stream.types,
        stream.codes[: boundaries[-1]],
        boundaries[1] if corpus.vocabulary_from == "train" else boundaries[-1],
        corpus.rare,
        corpus.size,
        text_of.fold if corpus.fold else None,
        corpus.proper,
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
        "unknown_rate": {split: float(each[unknown].sum() / each.sum()) for split, each in frequency.items()},
        "unseen_words": int(unseen.sum()),
        "unseen_tokens": {split: int(each[unseen].sum()) for split, each in frequency.items()},
        "digest": digest(*splits.values()),
        **({"removed": removed} if removed else {}),
    }
    out, given = Path(config.out), asdict(corpus)
    write_corpus(out, Corpus(words, **splits, texts=_text_table(corpus, stream, boundaries), counts=counts))
    if not removed:
        del given["drop_repeats"]  # whatever is not used leaves results as they were before it was there
    Record("preprocess", corpus.name, 0, {"corpus": given}, counts["digest"]).write(out)
    log.info("%s: %s", corpus.name, ", ".join(f"{value:,} {key}" for key, value in measured.items()))


def _counted(pieces: Iterable[text_of.Piece], measured: dict[str, int]) -> Iterator[text_of.Piece]:
    for words, ends in pieces:
        measured["paragraphs"] += ends
        measured["words"] += len(words)
        yield words, ends


def _texts(corpus: CorpusConfig, bar: tqdm) -> Iterator[tuple[str, Iterable[text_of.Piece]]]:
    """Name and pieces of each text, in the order of the stream."""
    if corpus.format == "senate":
        yield from _releases(corpus, bar)
        return
    paths = _paths(corpus)
    bar.reset(sum(path.stat().st_size for path in paths))
    for path in paths:
        yield path.name, READERS[corpus.format](_lines(path, corpus.encoding, bar.update))


def _paths(corpus: CorpusConfig) -> list[Path]:
    """The texts' files: by name, or a file a split."""
    raw = Path(corpus.raw)
    if what := archives.unreadable(raw):
        raise _nothing_usable(corpus, what)
    files = sorted(path for path in raw.rglob("*") if path.is_file()) if raw.is_dir() else [raw]
    there = "found: " + (", ".join(path.name for path in files[:5]) + ", ..." * (len(files) > 5) or "nothing")
    if corpus.by_file:
        chosen = []
        for split in SPLITS:
            pattern = corpus.splits[split]
            of_split = [path for path in files if re.fullmatch(pattern, path.name)]
            if len(of_split) != 1:
                what = f"{len(of_split)} files match corpus.splits.{split}={pattern}, not one; {there}"
                raise _nothing_usable(corpus, what)
            chosen += of_split
        return chosen
    paths = [path for path in files if path == raw or re.fullmatch(corpus.files, path.name)]
    if not paths:
        raise _nothing_usable(corpus, f"no file there matches corpus.files={corpus.files}; {there}")
    return paths


def _nothing_usable(corpus: CorpusConfig, what: str) -> InputError:
    fetch = f"run `python -m pipeline.download corpus={corpus.name} out={corpus.raw}`, or "
    place = f"give the right place, as conf/corpus/{corpus.name}.yaml says"
    return InputError(f"corpus.raw={corpus.raw}: {what}; {fetch * bool(corpus.sha256)}{place}")


def _lines(path: Path, encoding: str, progress: Callable[[int], object]) -> Iterator[str]:
    """The lines of a file, very long ones in parts. Raises InputError that names what is not of the encoding.

    progress: called with each number of bytes that were read.
    """
    number, rest = 1, ""
    try:
        with (
            path.open("rb", buffering=0) as raw,
            io.TextIOWrapper(CallbackIOWrapper(progress, raw), encoding, newline="\n") as file,
        ):
            while read := file.readline(LONGEST):
                line, rest = rest + read, ""
                if "\0" in read:
                    what = f"{path}, line {number}: NUL characters: this is no text, or UTF-16 without its mark"
                    raise InputError(f"{what}; convert it, for example with iconv, or give corpus.encoding=utf-16-le")
                if len(read) == LONGEST and not read.endswith("\n"):
                    line, rest = _whole_words(line)
                if line:
                    yield line if number > 1 else line.removeprefix("\ufeff")  # the mark of an encoding
                number += read.endswith("\n")
    except UnicodeError as error:
        if isinstance(error, UnicodeDecodeError):  # else UTF-16's own mark is not there
            number += error.object[: error.start].count(b"\n")
        what = f"{path}, line {number}: not {encoding.upper()}"
        raise InputError(f"{what}; convert it, for example with iconv, or give corpus.encoding") from error
    if rest:
        yield rest


def _whole_words(part: str) -> tuple[str, str]:
    """The words of a part of a line, and apart the last, which may go on; one that is too long for a word is cut.

    What is left always has a word if the line had one before: its end must not look like a blank line.
    """
    words, last = ["", "", *part.rsplit(maxsplit=1)][-2:]
    if len(last) >= LONGEST:
        words, last = f"{words} {last[:-1]}", last[-1]
    return words, last + " " * part[-1].isspace()


def _releases(corpus: CorpusConfig, bar: tqdm) -> Iterator[tuple[str, list[text_of.Piece]]]:
    """The usable press releases of the packed corpus by day, senator and file, each one paragraph, none twice."""
    packed = Path(corpus.raw, PACKED)
    if not packed.is_file():
        raise _nothing_usable(corpus, f"no {PACKED} there")
    try:
        with zipfile.ZipFile(packed) as archive:
            dated = sorted(filter(None, map(senate.origin, archive.namelist())))
            bar.reset(sum(archive.getinfo(name).file_size for _, _, name in dated))
            seen: set[bytes] = set()
            for _, senator, name in dated:
                content = archive.read(name)
                bar.update(len(content))
                text = " ".join(senate.decoded(content, corpus.encoding).split())
                digest = hashlib.sha256(text.encode()).digest()
                if digest not in seen and senate.usable(text):
                    seen.add(digest)
                    yield f"{senator}/{Path(name).stem}", [(senate.words_of(text), True)]
    except UnicodeDecodeError as error:
        what = f"{packed}, {name}: neither UTF-8 nor {corpus.encoding.upper()}"
        raise InputError(f"{what}; give corpus.encoding=latin-1, which every text can be read as") from error
    except archives.DAMAGE as error:
        raise _nothing_usable(corpus, f"{PACKED} is damaged: {error}") from error


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
    """Compares with what these texts must hold, whatever is then made of them."""
    for key, value in (corpus.expected or {}).items():
        if measured[key] != value and not corpus.texts:
            raise InputError(
                f"{corpus.raw}: {measured[key]:,} {key} where the {corpus.name} corpus has {value:,}; download it "
                "again, or, if other texts are meant, set corpus.expected=null"
            )


def _text_table(corpus: CorpusConfig, stream: repeats.Stream, boundaries: list[int]) -> pd.DataFrame:
    """name, genre, first (token), end, split: a text that lies in two splits has a row in each."""
    rows = []
    ends = stream.ends.tolist()
    for name, first, end in zip(stream.names, [0, *ends[:-1]], ends, strict=True):
        genre = corpus.genres.get(name.rstrip("0123456789"), "")
        for split, low, high in zip(SPLITS, boundaries[:-1], boundaries[1:], strict=True):
            if max(first, low) < min(end, high):
                rows.append((name, genre, max(first, low), min(end, high), split))
    return pd.DataFrame(rows, columns=["name", "genre", "first", "end", "split"])


if __name__ == "__main__":
    app.run("preprocess", Config, main, timed=True)
