"""What the trials start from, and how a trial is judged."""

import os
import shutil
from pathlib import Path

from forks import Ended, call
from tiny import RESULTS, words

# What a result holds whose every bit is the same when its stage is repeated.
COMPARED = (".npy", ".csv", ".safetensors", "metrics.json", "counts.json", "run.json", "weights.json", ".txt", ".md")


def make(root: Path) -> None:
    """The tiny results, made anew; tracking goes to a database beside them."""
    raw = Path("data/raw/brown").resolve()
    os.environ["MLFLOW_TRACKING_URI"] = f"sqlite:///{root}/mlflow.db"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    fetched = f"download corpus=brown corpus.path={raw if raw.is_dir() else ''}"
    for out, command in ({"raw": fetched, "data/brown": "preprocess"} | RESULTS).items():
        stage, *more = command.format(root=root).split()
        ended = call(stage, *words(root, stage, root / out, *more))
        if ended.code:
            raise SystemExit(f"{command}\n{ended.said}")
    shutil.make_archive(str(root / "texts"), "gztar", root / "raw")


def refused(ended: Ended, *names: str) -> str:
    """Empty where a call ended as a mistake of the user's should: code 2, and a message that has one of these names."""
    said = ended.errors.strip()
    if ended.code != 2 or not said.startswith("error: ") or "Traceback" in said:
        return f"exit code {ended.code}: {(ended.said.strip() or 'silence')[-200:]}"
    return "" if any(name in said for name in names) else f"does not name it: {said}"


def differs(folder: Path, expected: Path) -> str:
    """Which files of a result have other bits than expected, or are there in one place alone; empty for none."""
    ours, others = bits(folder), bits(expected)
    kept = [name for name in ours | others if name.endswith(COMPARED) or "." not in name]
    names = sorted(name for name in kept if ours.get(name) != others.get(name))
    return f"other bits: {names[:3]}" if names else ""


def bits(folder: Path) -> dict[str, bytes]:
    """The files below a folder, and what they hold."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
