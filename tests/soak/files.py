"""Damaged files: well is one line that names the file or its folder, or the result of before to the bit."""

import random
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from forks import call
from tiny import tables, words

from .few import bits, refused

TEXT = "The jury said that the election was fair.\n"
# What is damaged, below the folder of tiny results, and what then reads it: a stage, or a verb of nplm.
READERS = {
    "data/brown/train.npy": ["ngram", "score kn3"],
    "data/brown/valid.npy": ["mix"],
    "data/brown/test.npy": ["report"],
    "data/brown/vocabulary.txt": ["ngram", "score mlp9"],
    "data/brown/texts.csv": ["report"],
    "data/brown/counts.json": ["ngram", "score mlp9"],
    "predictions/table1/mlp9/0/raw/valid.npy": ["mix", "report"],
    "predictions/table1/mlp9/0/run.json": ["mix", "score mlp9"],
    "predictions/table1/mlp9/0/weights.safetensors": ["score mlp9", "word_map"],
    "predictions/beyond/mlp9-mixed/0/weights.json": ["score mlp9-mixed"],
    "clusters/brown/150/classes.csv": ["ngram ngram=class150-3", "score class150-3"],
    "kn3.arpa": ["ngram ngram=arpa ngram.path={root}/kn3.arpa"],
    "texts.tar.gz": ["download corpus.path={root}/texts.tar.gz corpus.sources=[] corpus.local=''"],
    "text.txt": ["score kn3", "compare kn3 mlp9", "preprocess corpus=text corpus.raw={root}/text.txt corpus.rare=0"],
}
DAMAGES = ["gone", "empty", "cut", "many bytes", "UTF-16", "a pickle"]
# Nothing tells other numbers, or another text, from these but `dvc status`, which names the changed file.
NUMBERS = (".npy", ".safetensors", ".arpa", "text.txt")


def trials(root: Path) -> Iterator:
    """Each damage to each file, by each reader."""
    for damage in DAMAGES:
        for file, readers in READERS.items():
            for reader in readers:
                yield f"{reader} reads {file}, {damage}", partial(_tried, root, file, reader, damage)


def _damaged(content: bytes, damage: str, draw: random.Random) -> bytes:
    flipped = bytearray(content)
    for _ in range(200):
        flipped[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    return {
        "empty": b"",
        "cut": content[: draw.randrange(1, len(content))],
        "many bytes": bytes(flipped),
        "UTF-16": content.decode("latin-1").encode("utf-16"),
        "a pickle": b"\x80\x04cos\nsystem\n(S'true'\ntR.",
    }[damage]


def _tried(root: Path, file: str, reader: str, damage: str, folder: Path) -> str:
    whole = shutil.copytree(root, folder / "whole", ignore=shutil.ignore_patterns("mlflow*", "mlartifacts"))
    (whole / "text.txt").write_text(TEXT * 500)
    expected, said = _read(whole, reader, folder / "expected")
    if expected is None:
        return f"the whole files are not read: {said}"
    content = (whole / file).read_bytes()
    (whole / file).unlink()
    if damage != "gone":
        (whole / file).write_bytes(_damaged(content, damage, random.Random(f"{file} {damage}")))
    result, said = _read(whole, reader, folder / "result", file, Path(file).name, str(Path(file).parent), "no model")
    may_differ = file.endswith(NUMBERS) and not file.startswith("data")
    return said or "read as if it were whole, with another result" * (result not in (None, expected) and not may_differ)


def _read(root: Path, reader: str, out: Path, *names: str) -> tuple[object, str]:
    """What a reader makes of the folder; None where it refuses, and what went badly with that, if anything."""
    verb, *more = reader.format(root=root).split()
    if verb in ("score", "compare"):
        places = ["--data", root / "data" / "brown", "--clusters", root / "clusters" / "brown"]
        places += [word for table in tables(root) for word in ("--predictions", table)]
        ended = call("commands", verb, *more, root / "text.txt", *places)
    else:
        ended = call(verb, *words(root, verb, out, *more))
    if ended.code:
        return None, refused(ended, *names)
    kept = {name: content for name, content in bits(out).items() if name.endswith((".npy", ".csv", ".md", ".txt"))}
    return kept or ended.said, ""
