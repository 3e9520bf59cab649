"""Bad values: each key with one or two of its kind, and a key that there is not. Well is a refusal that names the key
and leaves an earlier result as it is; of text also what is accepted."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from forks import call
from tiny import words

from pipeline.config.check import keys, keys_of

from .few import bits, refused

STAGES = ["preprocess", "download", "cluster", "ngram", "train", "mix", "features", "report", "shortlist"]
STAGES += ["out_of_vocabulary", "word_map"]
PIPE = "PIPE"  # stands for all that is neither a file nor a folder, such as a device
BAD = {int: ["x", "-1e30"], float: ["nan", "-1e30"], str: ["[1]", PIPE]}  # else x: no truth value, list, or choice


def trials(root: Path) -> Iterator:
    """Each key at the first stage that has it."""
    seen = set()
    for stage in STAGES:
        yield f"{stage} +nosuch=1", partial(_tried, root, stage, "+nosuch", "1")
        for key, field in keys(keys_of(stage)):
            if "[]" not in key and key not in seen:
                seen.add(key)
                for value in BAD.get(field.annotation, ["x"]):
                    yield f"{stage} {key}={value}", partial(_tried, root, stage, key, value)


def _tried(root: Path, stage: str, key: str, value: str, folder: Path) -> str:
    out, pipe = folder / "out", folder / "pipe"
    out.mkdir()
    if stage != "download":  # which refuses a folder with anything but texts
        (out / "run.json").write_text("an earlier result")
    os.mkfifo(pipe)
    before = bits(out)
    ended = call(stage, *words(root, stage, out, f"{key}={pipe if value == PIPE else value}"))
    if ended.code == 0:
        return "" if value == PIPE else f"accepted: {ended.said.strip()[-100:]}"
    after = {name: content for name, content in bits(out).items() if not name.startswith("checkpoints/")}
    named = key.strip("+"), key.partition(".")[0], key.rpartition(".")[2], str(pipe), "no predictions of"
    return refused(ended, *named) or ("" if after == before else f"the result of before changed: {set(after)}")
