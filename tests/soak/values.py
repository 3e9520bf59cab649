"""Bad values: each key with a few of its kind, and a key that there is not. Well is a refusal that names the key and
leaves an earlier result as it is; of text also what is accepted."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from pydantic.fields import FieldInfo

from pipeline.config.check import keys
from pipeline.config.stages import STAGES as MODELS

from .few import Few
from .trial import Trial, bits, call, refused

STAGES = ["preprocess", "download", "cluster", "ngram", "train", "mix", "features", "report", "shortlist"]
STAGES += ["out_of_vocabulary", "word_map"]
PIPE = "PIPE"  # stands for all that is neither a file nor a folder, such as a device
NUMBER = ["x", "nan", "-1e30"]
BAD = {int: NUMBER, float: NUMBER, str: ["[1]", PIPE, ""]}
TEXT = (PIPE, "")  # which a key of text may take


def trials(few: Few) -> Iterator[Trial]:
    """Each key at the first stage that has it."""
    seen = set()
    for stage in STAGES:
        yield Trial(f"{stage} +nosuch=1", partial(_tried, few, stage, "+nosuch", "1"))
        for key, field in keys(MODELS[stage]):
            if "[]" not in key and key not in seen:
                seen.add(key)
                for value in _values(field):
                    yield Trial(f"{stage} {key}={value}", partial(_tried, few, stage, key, value))


def _values(field: FieldInfo) -> list[str]:
    return BAD.get(field.annotation, ["x"])  # no truth value, no list, none of the names to choose from


def _tried(few: Few, stage: str, key: str, value: str, folder: Path) -> str:
    out, pipe = folder / "out", folder / "pipe"
    out.mkdir()
    if stage != "download":  # which refuses a folder with anything but texts
        (out / "run.json").write_text("an earlier result")
    os.mkfifo(pipe)
    before = bits(out)
    words = [word for word in few.words(stage, out) if not word.startswith(f"{key}=")]
    ended = call(stage, *words, f"{key}={pipe if value == PIPE else value}")
    if ended.code == 0:
        return "" if value in TEXT else f"accepted: {ended.said.strip()[-100:]}"
    after = {name: content for name, content in bits(out).items() if not name.startswith("checkpoints/")}
    named = key.strip("+"), key.partition(".")[0], key.rpartition(".")[2], str(pipe), "no predictions of"
    return refused(ended, *named) or ("" if after == before else f"the result of before changed: {set(after)}")
