"""No room: a stage writes to a disk that is full or read-only. Well is one line that names the place, and once there is
room, the repeated command ends with the result of an undisturbed run. Needs Linux and a user who may mount."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from .few import Few
from .trial import Trial, call, differs, refused

STAGES = ["preprocess", "cluster", "ngram", "train", "mix", "report", "features"]
KEYS = ["out", "timing", "checkpoints"]
READ_ONLY = "read-only"
ROOM = [0, 16, 128, READ_ONLY]  # kilobytes that are free on the disk


def trials(few: Few) -> Iterator[Trial]:
    """Each stage, with its result, its time or its checkpoints on the disk; none where nothing can be mounted."""
    for stage in STAGES if mountable() else []:
        for key in KEYS if stage == "train" else KEYS[:2]:
            for room in ROOM:
                yield Trial(f"{stage}, {key} on a disk, free: {room}", partial(_tried, few, stage, key, room))


def _tried(few: Few, stage: str, key: str, room: int | str, folder: Path) -> str:
    whole = folder / "whole"
    call(stage, *few.words(stage, whole))
    with mounted(folder / "disk") as disk:
        out = disk / "out" if key == "out" else folder / "out"
        place = {"out": out, "timing": disk / "timing.json", "checkpoints": disk / "checkpoints"}[key]
        words = [word for word in few.words(stage, out) if not word.startswith(("hydra.run.dir", f"{key}="))]
        words += [f"hydra.run.dir={folder}/run", f"{key}={place}"]
        leave(disk, room)
        first = call(stage, *words)
        said = refused(first, str(disk), place.name, "is there room") if first.code else ""
        if said:
            return said
        if room == READ_ONLY:
            _remount("rw", disk)
        (disk / "filler").unlink(missing_ok=True)
        again = call(stage, *words)
        return f"repeated, with room: {again.said.strip()[-200:]}" if again.code else differs(out, whole)


def mountable() -> bool:
    """Whether a disk can be mounted here."""
    return sys.platform.startswith("linux") and not os.geteuid()


@contextmanager
def mounted(folder: Path) -> Iterator[Path]:
    """A file system in memory."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "soak", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def _remount(option: str, folder: Path) -> None:
    subprocess.run(["mount", "-o", f"remount,{option}", folder], check=True)


def leave(disk: Path, room: int | str) -> None:
    """Takes all room of a disk but so many kilobytes, or makes it read-only."""
    if room == READ_ONLY:
        _remount("ro", disk)
        return
    stat = os.statvfs(disk)
    with (disk / "filler").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(stat.f_bavail * stat.f_frsize - 1024 * room, 1))
