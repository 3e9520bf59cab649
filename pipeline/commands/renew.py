"""Renews the locks of results after an edit of docstrings and comments.

A dvc.lock holds the hashes of the code that made its results. Two files mean the same if their syntax trees without
docstrings and comments are equal; then the results stay right. For each file or folder of code whose hash differs from
that in a lock, this command finds the commit with the lock's hash and compares the trees file by file. If all are
equal, the lock gets the new hash. If not, the command prints the first difference and leaves this lock as it is. It
needs no results and changes none. Exit code 1 if a lock was not renewed.
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

from pipeline.commands import report_error
from pipeline.config.base import ROOT

EXAMPLE = "nplm renew"
CODE = "pipeline"  # the folder whose files are code
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

Files = dict[str, bytes]  # contents by name below ROOT


class Dependency(NamedTuple):
    """A dependency of a stage, as a lock has it."""

    path: str
    md5: str


def run(options: argparse.Namespace) -> int:
    """Renews all locks as far as possible, and prints what was not renewed."""
    from dvc.utils.serialize import load_yaml, modify_yaml

    locks = [file for file in (ROOT / "dvc.lock", *sorted(ROOT.glob("experiments/*/dvc.lock"))) if file.is_file()]
    dependencies = {
        lock: {
            Dependency(entry["path"], entry["md5"])
            for stage in load_yaml(lock)["stages"].values()
            for entry in _code_entries(stage)
        }
        for lock in locks
    }
    new_entries = {}
    refusals = []
    for dependency in sorted(set().union(*dependencies.values())):
        new_files = files_on_disk(dependency.path)
        new_entry = lock_entry(dependency.path, new_files)
        if new_entry["md5"] == dependency.md5:
            continue
        old_files = committed_files(dependency)
        difference = "no commit has it as the lock has" if old_files is None else first_difference(old_files, new_files)
        if difference:
            names = [str(lock.relative_to(ROOT)) for lock in locks if dependency in dependencies[lock]]
            refusals.append(f"{', '.join(names)}: {dependency.path}: {difference}")
        else:
            new_entries[dependency] = new_entry
    for lock in (lock for lock in locks if dependencies[lock] & new_entries.keys()):
        with modify_yaml(lock) as content:
            for entry in (entry for stage in content["stages"].values() for entry in _code_entries(stage)):
                entry.update(new_entries.get(Dependency(entry["path"], entry["md5"]), {}))
        print(f"renewed {lock.relative_to(ROOT)}")
    if refusals:
        return report_error("not renewed, since the meaning may have changed:\n" + "\n".join(refusals), 1)
    return 0


def _code_entries(stage: dict) -> list[dict]:
    return [entry for entry in stage.get("deps", []) if Path(entry["path"]).parts[0] == CODE]


def files_on_disk(path: str) -> Files:
    """The files of a dependency on the disk, without Python's caches."""
    place = ROOT / path
    files = [place] if place.is_file() else [file for file in place.rglob("*") if file.is_file()]
    return {
        file.relative_to(ROOT).as_posix(): file.read_bytes()
        for file in sorted(files)
        if "__pycache__" not in file.parts
    }


def committed_files(dependency: Dependency) -> Files | None:
    """The files of a dependency in the newest commit in which they have the lock's hash; None if no commit has it."""
    log = subprocess.run(["git", "log", "--format=%H", "--", dependency.path], cwd=ROOT, capture_output=True, text=True)
    for commit in log.stdout.split():
        archive = subprocess.run(["git", "archive", commit, dependency.path], cwd=ROOT, capture_output=True)
        if archive.returncode == 0:
            with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
                files = {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}
            if lock_entry(dependency.path, files)["md5"] == dependency.md5:
                return files
    return None


def lock_entry(path: str, files: Files) -> dict[str, object]:
    """The entry of a dependency in a lock, as DVC writes it: hash, size, and for a folder the number of files."""
    digests = {name: hashlib.md5(content).hexdigest() for name, content in files.items()}
    size = sum(map(len, files.values()))
    if path in files:
        return {"md5": digests[path], "size": size}
    entries = [{"md5": digest, "relpath": Path(name).relative_to(path).as_posix()} for name, digest in digests.items()]
    text = json.dumps(sorted(entries, key=lambda entry: Path(entry["relpath"]).parts))
    return {"md5": f"{hashlib.md5(text.encode()).hexdigest()}.dir", "size": size, "nfiles": len(files)}


def first_difference(old_files: Files, new_files: Files) -> str:
    """The first place where two versions of some files differ in meaning; "" if they mean the same."""
    for name in sorted(old_files.keys() | new_files.keys()):
        if name not in new_files or name not in old_files:
            return f"{name} is {'new' if name in new_files else 'gone'}"
        old, new = old_files[name], new_files[name]
        if old != new and (difference := _difference_of_file(name, old, new)):
            return difference
    return ""


def _difference_of_file(name: str, old: bytes, new: bytes) -> str:
    if not name.endswith(".py"):
        return name
    old_statements, new_statements = (_statements(ast.parse(source)) for source in (old, new))
    for before, after in zip(old_statements, new_statements, strict=False):
        if ast.dump(before) != ast.dump(after):
            return f"{name}:{after.lineno}"
    return "" if len(old_statements) == len(new_statements) else f"{name}: it has other statements at its end"


def _statements(module: ast.Module) -> list[ast.stmt]:
    """The statements of a module without docstrings."""
    for node in ast.walk(module):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return module.body
