"""Bad values: each key of each stage with hostile values. Well is a refusal in one line that names the key and leaves
an earlier result as it is, or a value that is accepted for a reason."""

import math
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from pipeline.config.base import Key, keys

from .few import Few
from .trial import Trial, bits, call, refused

PIPE = "PIPE"
STAGES = ["download", "preprocess", "cluster", "ngram", "train", "mix", "features", "report", "shortlist"]
STAGES += ["out_of_vocabulary", "word_map"]
VALUES = [
    *("", "' '", "null", "-1", "0", "1", "1.5", "-0.5", "1e-300", "1e308", "nan", "inf", "-inf"),
    *(
        "99999999999999999999999999",
        "true",
        "x",
        "[]",
        "[1]",
        "[x,x]",
        "{}",
        "{a:1}",
        "'ünï\u0000'",
        "'${seed}'",
        PIPE,
    ),
    *("../../..", "'a b'", "'('"),
]


def trials(few: Few) -> Iterator[Trial]:
    """One for each key and value, and with + before the key, which must not help."""
    for stage in STAGES:
        for key in keys(stage):
            if "[]" in key.name or key.name.startswith("hydra"):
                continue
            for value in VALUES:
                value = "'${out}'" if (key.name, value) == ("seed", "'${seed}'") else value  # no key is its own
                yield Trial(f"{stage} {key.name}={value}", partial(_tried, few, stage, key, value))
            yield Trial(f"{stage} +{key.name}x=1", partial(_unknown, few, stage, key))


def _tried(few: Few, stage: str, key: Key, value: str, folder: Path) -> str:
    out, pipe = folder / "out", folder / "pipe"
    out.mkdir()
    if stage != "download":  # which refuses a folder with anything but texts
        (out / "run.json").write_text("an earlier result")
    if value == PIPE:  # stands for all that is neither a file nor a folder, such as a device
        os.mkfifo(pipe)
        value = str(pipe)
    before = bits(out)
    where = [word for word in few.words(stage, out) if not word.startswith(f"{key.name}=")]
    ended = call(stage, *where, f"{key.name}={value}")
    if ended.code == 0:
        return "" if accepted(key, value) else f"accepted: {ended.said.strip()[-100:]}"
    after = {name: content for name, content in bits(out).items() if not name.startswith("checkpoints/")}
    named = key.name, key.name.partition(".")[0], key.name.rpartition(".")[2], value.strip("'${}") or "empty"
    said = refused(ended, *named, "no predictions of")  # of a model by a name that there is not
    return said or ("" if after == before else f"refused, but the result of before changed: {set(after) ^ set(before)}")


def _unknown(few: Few, stage: str, key: Key, folder: Path) -> str:
    return refused(call(stage, *few.words(stage, folder / "out"), f"+{key.name}x=1"), f"{key.name}x")


def accepted(key: Key, value: str) -> str:
    """Why a value may be accepted; empty where there is no reason."""
    kind = key.type
    if value.strip("'") in (key.value.strip('"'), key.value):
        return "it is the key's own value"
    if kind.startswith(("int", "float")) or "int" in kind.split(" | "):
        if value == "'${seed}'":
            return "the number of another key"
        return "a finite number within the key's bounds, which the schema holds" * _finite(value)
    if kind == "bool":
        words = ("true", "'${seed}'")
        return "a whole number or a word that is read as true or false" * (
            value in words or value.lstrip("-").isdigit()
        )
    if kind.startswith("list"):
        return "a list of what the key takes, or none" * value.startswith("[")
    if kind.startswith("dict"):
        return "as many keys as the user likes, or none" * value.startswith("{")
    if "|" in kind:
        return ""  # names to choose from
    return "text, which may be anything: a name, an expression, or a place that is not there yet or not read"


def _finite(value: str) -> bool:
    try:
        return math.isfinite(float(value)) and abs(float(value)) <= 1e12
    except ValueError:
        return value == "null"
