"""Mistakes that read ahead, or fit on test, planted one at a time in a copy of the code: which do the tests miss?

    python -m tests.mistakes              # all; some half an hour on one core
    python -m tests.mistakes --sample 4   # that many, others every day

mistakes.yaml has them. Exit code 1 where one survives.
"""

import argparse
import datetime
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("pipeline", "conf", "tests", "reports", "docs", "README.md", "requirements.txt", "pyproject.toml", "nplm.py")
ASSERTED = r"^\S+:\d+: (AssertionError|Failed)$"  # where a traceback of pytest ends with an assertion, or pytest.raises


class Mistake(NamedTuple):
    """See mistakes.yaml."""

    what: str
    file: str
    right: str
    wrong: str
    tests: str


def listed() -> list[Mistake]:
    """All of mistakes.yaml, each of which fits the code as it is."""
    every = [Mistake(**each) for each in yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))]
    for each in every:
        text = (ROOT / "pipeline" / each.file).read_text(encoding="utf-8")
        assert text.count(each.right) == 1, f"{each.what}: {each.file} has changed: plant it anew"
    return every


def survives(mistake: Mistake) -> bool:
    """Whether all of a mistake's tests pass with it. They are to fail by an assertion: what only ends the program, such
    as a name that is gone, is no mistake that a test has to notice."""
    with tempfile.TemporaryDirectory() as folder:
        for name in COPIED:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
            copy(ROOT / name, Path(folder, name))
        if (ROOT / "data" / "raw").is_dir():  # or the tests would download it
            (Path(folder) / "data").mkdir()
            (Path(folder) / "data" / "raw").symlink_to(ROOT / "data" / "raw")
        file = Path(folder, "pipeline", mistake.file)
        file.write_text(file.read_text(encoding="utf-8").replace(mistake.right, mistake.wrong), encoding="utf-8")
        tests = [f"tests/{name}.py" for name in mistake.tests.split() if Path(folder, "tests", f"{name}.py").is_file()]
        command = [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider", "-m", "not thorough", *tests]
        environment = os.environ | {"PYTHONPATH": folder}
        ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        by_itself = f"{mistake.what}: its tests end without an assertion that fails: plant it anew\n"
        noticed = ended.returncode == 1 and re.search(ASSERTED, ended.stdout, re.MULTILINE)
        assert noticed or ended.returncode == 0, by_itself + ended.stdout[-2000:] + ended.stderr[-2000:]
        return not noticed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="mistakes with these words in their description")
    parser.add_argument("--sample", type=int, metavar="N", help="so many, drawn anew every day")
    given = parser.parse_args()
    every = listed()
    planted = [each for each in every if not given.words or any(word in each.what for word in given.words)]
    if given.sample:
        planted = random.Random(datetime.date.today().toordinal()).sample(planted, given.sample)
    left = []
    for mistake in planted:
        left += [mistake.what] if (missed := survives(mistake)) else []
        print(f"{'SURVIVES' if missed else 'noticed '}  {mistake.what} ({mistake.file})", flush=True)
    print(f"{len(left)} of {len(planted)} mistakes survive{': ' + '; '.join(left) if left else ''}")
    return bool(left)


if __name__ == "__main__":
    sys.exit(main())
