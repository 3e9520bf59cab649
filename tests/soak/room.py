"""No room: a stage writes to a disk that is full or read-only. Well is one line that names the place, and once there is
room, the repeated command ends with the result of an undisturbed run. Needs Linux and a user who may mount."""

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from forks import call
from tiny import words

from .few import differs, refused

STAGES = ["preprocess", "cluster", "ngram", "train", "mix", "report", "features"]
READ_ONLY = "read-only"
ROOM = [0, 16, 128, READ_ONLY]  # kilobytes that are free on the disk


def trials(root: Path) -> Iterator:
    """Each stage, with its result, its time or its checkpoints on the disk; none where nothing can be mounted."""
    mountable = sys.platform.startswith("linux") and not os.geteuid()
    for stage in STAGES if mountable else []:
        for key in ["out", "timing"] + ["checkpoints"] * (stage == "train"):
            for room in ROOM:
                yield f"{stage}, {key} on a disk, free: {room}", partial(_tried, root, stage, key, room)


def _tried(root: Path, stage: str, key: str, room: int | str, folder: Path) -> str:
    call(stage, *words(root, stage, folder / "whole"))
    disk = folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "soak", disk], check=True)
    try:
        place = disk / {"out": "out", "timing": "timing.json", "checkpoints": "checkpoints"}[key]
        out = place if key == "out" else folder / "out"
        given = words(root, stage, out, f"hydra.run.dir={folder}/run", f"{key}={place}")
        stat, filler = os.statvfs(disk), disk / "filler"
        if room == READ_ONLY:
            subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        else:
            with filler.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, max(stat.f_bavail * stat.f_frsize - 1024 * room, 1))
        first = call(stage, *given)
        if said := first.code and refused(first, str(disk), place.name, "is there room"):
            return said
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        filler.unlink(missing_ok=True)
        again = call(stage, *given)
        return f"repeated, with room: {again.said.strip()[-200:]}" if again.code else differs(out, folder / "whole")
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)
