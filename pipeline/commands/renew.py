"""Renews the locks of results after an edit of docstrings and comments.

A dvc.lock says of which code its results are. Where two files have the same syntax tree without docstrings and
comments, they mean the same, and the results stay right. For each file or folder of code whose hash is not that of a
lock, this command finds the commit in which it was, and compares the trees file by file: where all are equal, the lock
gets the new hash, else the first difference is named and this lock stays as it is. No results are needed, and none is
touched. Exit code 1 where a lock was not renewed.
"""

import argparse
import ast
import hashlib
import io
import json
import subprocess
import tarfile
from pathlib import Path
from typing import NamedTuple

from pipeline.commands import failed
from pipeline.config.base import ROOT

EXAMPLE = "nplm renew"
CODE = "pipeline"  # the folder whose files are code
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

Files = dict[str, bytes]  # by name below ROOT


class Locked(NamedTuple):
    """A dependency as locks have it."""

    path: str
    md5: str


def run(given: argparse.Namespace) -> int:
    """Renews what can be renewed in all locks; says what can't be."""
    from dvc.utils.serialize import load_yaml, modify_yaml

    locks = [file for file in (ROOT / "dvc.lock", *sorted(ROOT.glob("experiments/*/dvc.lock"))) if file.is_file()]
    dependencies = {
        lock: {Locked(dep["path"], dep["md5"]) for stage in load_yaml(lock)["stages"].values() for dep in _code(stage)}
        for lock in locks
    }
    renewed, refused = {}, []
    for locked in sorted(set().union(*dependencies.values())):
        now = on_disk(locked.path)
        entry = hashed(locked.path, now)
        if entry["md5"] == locked.md5:
            continue
        then = committed(locked)
        difference = "no commit has it as the lock has" if then is None else first_difference(then, now)
        if difference:
            names = [str(lock.relative_to(ROOT)) for lock in locks if locked in dependencies[lock]]
            refused.append(f"{', '.join(names)}: {locked.path}: {difference}")
        else:
            renewed[locked] = entry
    for lock in (lock for lock in locks if dependencies[lock] & renewed.keys()):
        with modify_yaml(lock) as content:
            for dependency in (dep for stage in content["stages"].values() for dep in _code(stage)):
                dependency.update(renewed.get(Locked(dependency["path"], dependency["md5"]), {}))
        print(f"renewed {lock.relative_to(ROOT)}")
    if refused:
        return failed("not renewed, since the meaning may have changed: " + "; ".join(refused), 1)
    return 0


def _code(stage: dict) -> list[dict]:
    return [dep for dep in stage.get("deps", []) if Path(dep["path"]).parts[0] == CODE]


def on_disk(path: str) -> Files:
    """The files of a dependency as they lie there, but for what Python leaves."""
    place = ROOT / path
    files = [place] if place.is_file() else [file for file in place.rglob("*") if file.is_file()]
    return {
        file.relative_to(ROOT).as_posix(): file.read_bytes()
        for file in sorted(files)
        if "__pycache__" not in file.parts
    }


def committed(locked: Locked) -> Files | None:
    """The files of a dependency in the newest commit in which they have the lock's hash; None where none has it."""
    log = subprocess.run(["git", "log", "--format=%H", "--", locked.path], cwd=ROOT, capture_output=True, text=True)
    for commit in log.stdout.split():
        archive = subprocess.run(["git", "archive", commit, locked.path], cwd=ROOT, capture_output=True)
        if archive.returncode == 0:
            with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
                files = {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}
            if hashed(locked.path, files)["md5"] == locked.md5:
                return files
    return None


def hashed(path: str, files: Files) -> dict[str, object]:
    """A dependency's entry in a lock, as DVC writes it: hash, size, and the number of files of a folder."""
    digests = {name: hashlib.md5(content).hexdigest() for name, content in files.items()}
    size = sum(map(len, files.values()))
    if path in files:
        return {"md5": digests[path], "size": size}
    listed = [{"md5": digest, "relpath": Path(name).relative_to(path).as_posix()} for name, digest in digests.items()]
    text = json.dumps(sorted(listed, key=lambda entry: Path(entry["relpath"]).parts))
    return {"md5": f"{hashlib.md5(text.encode()).hexdigest()}.dir", "size": size, "nfiles": len(files)}


def first_difference(then: Files, now: Files) -> str:
    """The first place in which two versions of some files differ in meaning; "" where they mean the same."""
    for name in sorted(then.keys() | now.keys()):
        if name not in now or name not in then:
            return f"{name} is {'new' if name in now else 'gone'}"
        if then[name] != now[name] and (place := _differs(name, then[name], now[name])):
            return place
    return ""


def _differs(name: str, then: bytes, now: bytes) -> str:
    if not name.endswith(".py"):
        return name
    before, after = (_statements(ast.parse(source)) for source in (then, now))
    for old, new in zip(before, after, strict=False):
        if ast.dump(old) != ast.dump(new):
            return f"{name}:{new.lineno}"
    return "" if len(before) == len(after) else f"{name}: it has other statements at its end"


def _statements(module: ast.Module) -> list[ast.stmt]:
    """The statements of a module without docstrings."""
    for node in ast.walk(module):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return module.body
