"""Damaged files: well is one line that names the file or its folder, or the result of before to the bit."""

import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np
import torch

from pipeline.config.base import ROOT

from . import given
from .few import Few
from .trial import Trial, bits, call, differs, refused

TEXT = "The jury said that the election was fair.\n"
# What is damaged, below the folder of tiny results, and what then reads it: a stage, or a verb of nplm.
READERS = {
    "data/train.npy": ["ngram", "score kn3"],
    "data/valid.npy": ["mix", "ngram"],
    "data/test.npy": ["ngram", "report"],
    "data/vocabulary.txt": ["ngram", "score mlp9"],
    "data/texts.csv": ["report", "ngram"],
    "data/counts.json": ["ngram", "score mlp9"],
    "predictions/mlp9/0/raw/valid.npy": ["mix", "report"],
    "predictions/mlp9/0/raw/test.npy": ["mix", "report"],
    "predictions/kn3/0/valid.npy": ["report"],
    "predictions/mlp9/0/run.json": ["mix", "report", "score mlp9"],
    "predictions/mlp9/0/metrics.json": ["score mlp9"],
    "predictions/mlp9/0/weights.safetensors": ["score mlp9", "word_map", "neighbours said --model mlp9"],
    "predictions/mlp9-mixed/0/weights.json": ["score mlp9-mixed"],
    "predictions/cycling3/0/weights.safetensors": ["shortlist"],
    "clusters/150/classes.csv": ["ngram class150-3", "score class150-3"],
    "text.txt": ["score kn3", "compare kn3 mlp9"],
}
DAMAGES: dict[str, Callable[[bytes, random.Random], bytes | None]] = {
    "gone": lambda content, draw: None,
    "empty": lambda content, draw: b"",
    "cut": lambda content, draw: content[: draw.randrange(1, max(2, len(content)))],
    "longer": lambda content, draw: content + content[: draw.randrange(1, 100)],
    "a byte": lambda content, draw: _flipped(content, draw, 1),
    "many bytes": lambda content, draw: _flipped(content, draw, 200),
    "noise": lambda content, draw: draw.randbytes(500),
    "zeros": lambda content, draw: bytes(len(content)),
    "UTF-16": lambda content, draw: content.decode("latin-1").encode("utf-16"),
    "CRLF": lambda content, draw: content.replace(b"\n", b"\r\n"),
    "lines twice": lambda content, draw: b"".join(line * 2 for line in content.splitlines(keepends=True)),
    "lines shuffled": lambda content, draw: b"".join(
        draw.sample(lines := content.splitlines(keepends=True), len(lines))
    ),
    "a pickle": lambda content, draw: b"\x80\x04cos\nsystem\n(S'true'\ntR.",
    "other array": lambda content, draw: _array(np.arange(draw.randrange(1, 50))),
    "JSON": lambda content, draw: b'{"a": [1, null]}',
}


def trials(few: Few) -> Iterator[Trial]:
    """Three draws of each damage to each file, by each reader, and to a checkpoint; what users give."""
    yield from given.trials(few)
    for damage in (*DAMAGES, "another state", "a state without weights"):
        for number in range(3 if damage in ("cut", "a byte", "many bytes") else 1):
            name = f"train resumes from a checkpoint, {damage} {number}"
            yield Trial(name, partial(_resumed, few, damage, name))
    for file, readers in READERS.items():
        for reader in readers:
            for damage in DAMAGES:
                for number in range(1 if damage in ("gone", "empty", "zeros", "CRLF", "a pickle", "JSON") else 3):
                    name = f"{reader} reads {file}, {damage} {number}"
                    yield Trial(name, partial(_tried, few, file, reader, damage, name))


def _tried(few: Few, file: str, reader: str, damage: str, name: str, folder: Path) -> str:
    whole = folder / "whole"
    for part in ("data", "predictions", "clusters"):
        shutil.copytree(few.root / part, whole / part)
    (whole / "text.txt").write_text(TEXT)
    expected, said = _read(whole, reader, folder / "expected")
    if expected is None:
        return f"the whole files are not read: {said}"
    content = DAMAGES[damage]((whole / file).read_bytes(), random.Random(name))
    if content is None:
        (whole / file).unlink()
    else:
        (whole / file).write_bytes(content)
    found, said = _read(whole, reader, folder / "found", file)
    if found is None:
        return said
    if file == "text.txt":  # any text is a text
        return ""
    numbers = file.startswith("predictions") and file.endswith((".npy", ".safetensors"))
    if numbers and damage in ("a byte", "many bytes"):
        # Accepted: nothing tells other numbers from these but `dvc status`, which names the changed file.
        return ""
    return "" if found == expected else "read as if it were whole, with another result"


def _resumed(few: Few, damage: str, name: str, folder: Path) -> str:
    """A training goes on from its checkpoint, or starts again, and ends with the bits of an undisturbed one."""
    out = folder / "out"
    shutil.copytree(_checkpoints(few), out / "checkpoints")
    (file,) = (out / "checkpoints").glob("[!.]*.pt")
    if damage in DAMAGES:
        content = DAMAGES[damage](file.read_bytes(), random.Random(name))
        file.unlink() if content is None else file.write_bytes(content)
    else:
        state = torch.load(file, weights_only=True)
        torch.save({"a": 1} if damage == "another state" else state | {"network": {}}, file)
    ended = call("train", *few.words("train", out))
    if ended.code:
        return refused(ended, file.name)
    return differs(out, few.predictions / "mlp9" / "0")


@cache
def _checkpoints(few: Few) -> Path:
    """The folder of checkpoints of a training that was killed half way."""
    out = few.root / "killed"
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "pipeline.train", *few.words("train", out), "checkpoint_seconds=0"]
    process = subprocess.Popen(command, cwd=ROOT)
    seen: set[int] = set()
    try:
        while process.poll() is None and len(seen) < 5:
            seen |= {file.stat().st_mtime_ns for file in (out / "checkpoints").glob("[!.]*.pt")}
            time.sleep(0.005)
    finally:
        process.kill()
        process.wait()
    return out / "checkpoints"


def _read(root: Path, reader: str, out: Path, file: str = "") -> tuple[object, str]:
    """What a reader makes of the folder, or None and what went badly, if anything."""
    verb, *more = reader.split()
    few = Few(root)
    if verb in ("score", "compare", "neighbours"):
        places = ["--data", few.data, "--predictions", few.predictions, "--clusters", root / "clusters"]
        text = [root / "text.txt"] if verb != "neighbours" else []
        ended = call("commands", verb, *more, *map(str, [*text, *places]))
    else:
        words = few.words(verb, out)
        if more:
            words = [word for word in words if not word.startswith("ngram=")] + [f"ngram={more[0]}"]
        ended = call(verb, *words)
    if ended.code:
        return None, refused(ended, file, Path(file).name, str(Path(file).parent), "no model")
    kept = {name: content for name, content in bits(out).items() if name.endswith((".npy", ".csv", ".md", ".svg"))}
    return kept or ended.said, ""


def _flipped(content: bytes, draw: random.Random, count: int) -> bytes:
    changed = bytearray(content)
    for _ in range(count):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _array(array: np.ndarray) -> bytes:
    import io

    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()
