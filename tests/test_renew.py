"""`nplm renew`: a lock is renewed where code means what it meant, and never elsewhere."""

import subprocess

import pytest
import yaml

from pipeline.commands import renew
from pipeline.config.base import ROOT

CODE = '''"""A module."""


def half(x: float, by: float = 2.0) -> float:
    """Half of x."""
    return x / by + 1


class Empty:
    """Nothing."""
'''
PATHS = ("pipeline/core/ngrams", "pipeline/core/one.py")


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A repository with two files of code, whose lock has a file and a folder, and the data of a stage."""
    monkeypatch.setattr(renew, "ROOT", tmp_path)
    for name in ("pipeline/core/ngrams/two.py", "pipeline/core/one.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(CODE)
    data = {"path": "data/brown", "md5": "0" * 32, "size": 1}
    deps = [{"path": path, "hash": "md5"} | renew.lock_entry(path, renew.files_on_disk(path)) for path in PATHS]
    lock = {"schema": "2.0", "stages": {"train@a": {"cmd": "c", "deps": [*deps, data]}, "mix": {"cmd": "c"}}}
    (tmp_path / "dvc.lock").write_text(yaml.safe_dump(lock, sort_keys=False))
    author = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "--quiet"], ["add", "-A"], [*author, "commit", "--quiet", "-m", "a"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return tmp_path


def edit(checkout, before: str, after: str) -> tuple[int, dict, dict]:
    """The command's exit code after an edit of both files, and the lock's code before and after."""

    def locked():
        stage = yaml.safe_load((checkout / "dvc.lock").read_text())["stages"]["train@a"]
        return {dep["path"]: dep for dep in stage["deps"]}

    then = locked()
    for file in checkout.glob("pipeline/core/**/*.py"):
        text = file.read_text()
        assert before in text
        file.write_text(text.replace(before, after))
    return renew.run(None), then, locked()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Half of x.", "The half of x, and one more."),
        ('    """Half of x."""\n', ""),
        ("    return x", "    # why\n    return x"),
        ("x / by + 1", "(x / by) + 1"),
        ('"""Nothing."""', "pass"),
    ],
)
def test_what_means_the_same_renews_the_lock(checkout, before, after):
    code, then, now = edit(checkout, before, after)
    assert code == 0
    for path in PATHS:
        assert now[path]["md5"] != then[path]["md5"]
        assert now[path] == {"path": path, "hash": "md5"} | renew.lock_entry(path, renew.files_on_disk(path))
    assert now["data/brown"] == then["data/brown"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("+ 1", "+ 2"),
        ("x / by + 1", "1 + x / by"),
        ("by: float = 2.0", "by: float = 3.0"),
        ("return x", 'print("""Half of x.""")\n    return x'),
    ],
)
def test_what_may_mean_something_else_is_refused_with_its_place(checkout, before, after, capsys):
    code, then, now = edit(checkout, before, after)
    assert code == 1 and now == then
    message = capsys.readouterr().err
    assert "pipeline/core/ngrams/two.py:4" in message and "pipeline/core/one.py:4" in message and "dvc.lock" in message


def test_a_new_file_in_a_folder_is_refused(checkout, capsys):
    (checkout / "pipeline" / "core" / "ngrams" / "three.py").write_text(CODE)
    code, then, now = edit(checkout, "Half of x.", "Half.")
    assert code == 1 and now[PATHS[0]] == then[PATHS[0]] and now[PATHS[1]] != then[PATHS[1]]
    assert "three.py is new" in capsys.readouterr().err


def test_its_hashes_are_dvcs():
    """Of a folder and a file, as the committed lock of the page, which is current, has them."""
    lock = yaml.safe_load((ROOT / "experiments" / "page" / "dvc.lock").read_text())
    code = {dep["path"]: dep for stage in lock["stages"].values() for dep in stage["deps"] if "pipeline" in dep["path"]}
    assert {"pipeline/reporting", "pipeline/replication.py"} <= code.keys()
    for path, dep in code.items():
        entry = renew.lock_entry(path, renew.files_on_disk(path))
        assert entry == {key: dep[key] for key in entry}, path
