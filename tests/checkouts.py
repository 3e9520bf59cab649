"""A copy of the checkout, to be edited."""

import shutil
import subprocess
from pathlib import Path

from pipeline.config.base import ROOT


def copy_of_checkout(folder: Path) -> None:
    """What is committed, or about to be, as a repository of git, without locks."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file() and not name.endswith("dvc.lock"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
