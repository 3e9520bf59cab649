"""A disk that is full: one line that names the place, and with room the result of an undisturbed run."""

import os
import subprocess
import sys

import pytest
from forks import call
from tiny import TINY

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or os.geteuid(), reason="needs Linux and a user who may mount"
)
ARRAYS = ("valid.npy", "test.npy", "raw/valid.npy", "metrics.json", "run.json")


@pytest.fixture
def disk(tmp_path):
    """A disk of 32 MB, full but for 16 KB, and the file that fills it."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "full", place], capture_output=True)
    if mounted.returncode:
        pytest.skip("nothing can be mounted here")
    try:
        free = os.statvfs(place)
        with (place / "filler").open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_frsize - (16 << 10))
        yield place
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


@pytest.mark.parametrize("key", ["out", "checkpoints"])
def test_a_training_on_a_full_disk_says_so_and_is_repeated_with_room(key, disk, few, tmp_path):
    places = {"out": tmp_path / "out", "checkpoints": tmp_path / "checkpoints"} | {key: disk / key}
    words = [*TINY, f"data={few}", "score_train=false", *(f"{name}={place}" for name, place in places.items())]
    words.append(f"timing={tmp_path}/timing.json")
    ended = call("train", *words)
    assert ended.code == 2 and "Traceback" not in ended.errors
    assert ended.errors.startswith("error: ") and (str(disk) in ended.errors or "is there room" in ended.errors)
    (disk / "filler").unlink()
    assert call("train", *words).code == 0
    undisturbed = [word for word in words if not word.startswith(("out=", "checkpoints="))]
    assert call("train", *undisturbed, f"out={tmp_path}/whole", f"checkpoints={tmp_path}/others").code == 0
    for name in ARRAYS:
        assert (places["out"] / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
