"""A copy of the checkout in which DVC takes stages for done, so that it can say what an edit would run again."""

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from dvc.repo import Repo
from dvc.stage import PipelineStage

from pipeline.config.base import ROOT


def copy_of_checkout(folder: Path) -> None:
    """What is committed, or about to be, as a repository of git, without locks."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file() and not name.endswith("dvc.lock"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)


def fill(stages: Iterable[PipelineStage]) -> None:
    """Puts files that say nothing in the place of what stages need and make."""
    for path in (Path(each.fs_path) for stage in stages for each in (*stage.outs, *stage.deps)):
        if path.suffix or path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        else:
            path.mkdir(parents=True)
            (path / "result").write_text(str(path))


def take_for_done(repo: Repo, stages: list[PipelineStage]) -> None:
    """Writes the locks of stages whose files say nothing."""
    fill(stages)
    with repo.lock:
        for stage in stages:
            stage.save()
            stage.dump(update_pipeline=False)
