"""Damaged files: well is one line that names the file or its folder, or the result of before to the bit."""

import random
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from .few import Few
from .trial import Trial, bits, call, refused

TEXT = "The jury said that the election was fair.\n"
# What is damaged, below the folder of tiny results, and what then reads it: a stage, or a verb of nplm.
READERS = {
    "data/train.npy": ["ngram", "score kn3"],
    "data/valid.npy": ["mix"],
    "data/test.npy": ["report"],
    "data/vocabulary.txt": ["ngram", "score mlp9"],
    "data/texts.csv": ["report"],
    "data/counts.json": ["ngram", "score mlp9"],
    "predictions/mlp9/0/raw/valid.npy": ["mix", "report"],
    "predictions/mlp9/0/run.json": ["mix", "score mlp9"],
    "predictions/mlp9/0/weights.safetensors": ["score mlp9", "word_map"],
    "predictions/mlp9-mixed/0/weights.json": ["score mlp9-mixed"],
    "clusters/150/classes.csv": ["ngram ngram=class150-3", "score class150-3"],
    "kn3.arpa": ["ngram ngram=arpa ngram.path={root}/kn3.arpa"],
    "texts.tar.gz": ["download corpus.path={root}/texts.tar.gz corpus.sources=[] corpus.local=''"],
    "text.txt": ["score kn3", "compare kn3 mlp9", "preprocess corpus=text corpus.raw={root}/text.txt corpus.rare=0"],
}
DAMAGES: dict[str, Callable[[bytes, random.Random], bytes | None]] = {
    "gone": lambda content, draw: None,
    "empty": lambda content, draw: b"",
    "cut": lambda content, draw: content[: draw.randrange(1, max(2, len(content)))],
    "longer": lambda content, draw: content + content[: draw.randrange(1, 100)],
    "a byte": lambda content, draw: _flipped(content, draw, 1),
    "many bytes": lambda content, draw: _flipped(content, draw, 200),
    "noise": lambda content, draw: draw.randbytes(500),
    "UTF-16": lambda content, draw: content.decode("latin-1").encode("utf-16"),
    "a pickle": lambda content, draw: b"\x80\x04cos\nsystem\n(S'true'\ntR.",
}
# Nothing tells other numbers, or another text, from these but `dvc status`, which names the changed file.
NUMBERS = (".npy", ".safetensors", ".arpa", "text.txt")


def trials(few: Few) -> Iterator[Trial]:
    """Each damage to each file, by each reader."""
    for damage in DAMAGES:
        for file, readers in READERS.items():
            for reader in readers:
                yield Trial(f"{reader} reads {file}, {damage}", partial(_tried, few, file, reader, damage))


def _tried(few: Few, file: str, reader: str, damage: str, folder: Path) -> str:
    whole = folder / "whole"
    for part in ("data", "predictions", "clusters"):
        shutil.copytree(few.root / part, whole / part)
    for name in ("kn3.arpa", "texts.tar.gz"):
        shutil.copy(few.root / name, whole / name)
    (whole / "raw").symlink_to(few.root / "raw")
    (whole / "text.txt").write_text(TEXT * 500)
    expected, said = _read(whole, reader, folder / "expected")
    if expected is None:
        return f"the whole files are not read: {said}"
    content = DAMAGES[damage]((whole / file).read_bytes(), random.Random(f"{file} {damage}"))
    (whole / file).unlink() if content is None else (whole / file).write_bytes(content)
    found, said = _read(whole, reader, folder / "found", file, Path(file).name, str(Path(file).parent), "no model")
    if found is None:
        return said
    may_differ = file.endswith(NUMBERS) and not file.startswith("data")
    return "" if may_differ or found == expected else "read as if it were whole, with another result"


def _read(root: Path, reader: str, out: Path, *names: str) -> tuple[object, str]:
    """What a reader makes of the folder; None where it refuses, and what went badly with that, if anything."""
    verb, *more = reader.format(root=root).split()
    few = Few(root)
    if verb in ("score", "compare"):
        places = ["--data", few.data, "--predictions", few.predictions, "--clusters", root / "clusters"]
        ended = call("commands", verb, *more, *map(str, [root / "text.txt", *places]))
    else:
        chosen = [word.partition("=")[0] + "=" for word in more]
        words = [word for word in few.words(verb, out) if not word.startswith(tuple(chosen))]
        ended = call(verb, *words, *more)
    if ended.code:
        return None, refused(ended, *names)
    kept = {name: content for name, content in bits(out).items() if name.endswith((".npy", ".csv", ".md", ".txt"))}
    return kept or ended.said, ""


def _flipped(content: bytes, draw: random.Random, count: int) -> bytes:
    changed = bytearray(content)
    for _ in range(count):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)
