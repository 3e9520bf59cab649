"""The pipelines as DVC reads them: a stage waits for all that decides its numbers, and for little else."""

import shlex
from collections import defaultdict
from pathlib import Path

import pytest
from checkouts import copy_of_checkout
from conftest import settings
from dvc.dependency import ParamsDependency
from dvc.repo import Repo
from imports import closure
from omegaconf import OmegaConf

from pipeline.config import groups
from pipeline.config.base import ROOT, deciding
from pipeline.config.check import keys_of

CORE = ROOT / "pipeline" / "core"
TORCHRUN = {CORE / "parallel.py"}  # imported by a training on several machines alone, which no stage is
SAYS = {"report", "claims", "page", "replication", "timeline", "streams", "word_map", "out_of_vocabulary"}


def loaded() -> dict[str, object]:
    """Every stage of every dvc.yaml, by its address."""
    with Repo(ROOT) as repo:
        return {stage.addressing: stage for stage in repo.index.stages}


class Stage:
    """A stage: its program and what its command gives; the paths and the values that it depends on."""

    def __init__(self, stage):
        words = shlex.split(stage.cmd)
        self.program, self.overrides = words[2].removeprefix("pipeline."), words[3:]
        self.given = {key: value for key, _, value in (word.partition("=") for word in self.overrides)}
        self.deps, self.values = [], {}
        for dep in stage.deps:
            if isinstance(dep, ParamsDependency):
                self.values[Path(dep.fs_path).relative_to(ROOT).as_posix()] = dep.params
            else:
                self.deps.append(Path(dep.fs_path))
        self.outs = [Path(out.fs_path) for out in stage.outs]

    def waits_for(self, path: Path) -> bool:
        return any(path.is_relative_to(dep) for dep in self.deps)


ALL = {address: Stage(stage) for address, stage in loaded().items()}
ONE_OF_EACH = {address.split("@")[0]: address for address in ALL}  # items of a stage differ in names alone
each_stage = pytest.mark.parametrize("address", ONE_OF_EACH.values(), ids=ONE_OF_EACH)


@each_stage
def test_a_stage_waits_for_the_code_that_it_imports_of_the_core(address):
    """And, where it makes arrays, for no other code: not for how a stage is run, checked or shown."""
    stage = ALL[address]
    code = [dep for dep in stage.deps if dep.is_relative_to(ROOT / "pipeline")]
    if stage.program in ("download", "page", "replication", "timeline"):
        return  # they compute nothing from arrays
    files = closure(ROOT / "pipeline" / f"{stage.program}.py", *(dep for dep in code if dep.suffix == ".py"))
    for file in sorted(files - TORCHRUN):
        if file.is_relative_to(CORE) and file.stem != "__init__":
            assert stage.waits_for(file), f"{address} does not wait for {file}"
    assert stage.program in SAYS or all(dep.is_relative_to(CORE) for dep in code)


@each_stage
def test_a_stage_waits_for_every_value_that_decides_a_number(address):
    """For each key that its command doesn't give: where conf/<stage>.yaml, or the entry of a group, has it."""
    stage = ALL[address]
    own = OmegaConf.load(ROOT / "conf" / f"{stage.program}.yaml")
    chosen = {
        group: name for default in own.pop("defaults", []) if default != "_self_" for group, name in default.items()
    }
    chosen = {group: stage.given.get(group, name) for group, name in chosen.items()}
    for group, name in chosen.items():
        if group in groups.LISTED:
            assert name in stage.values[f"conf/{groups.LISTED[group]}"], address
        elif stage.program != "download":  # which reads some keys alone
            for file in chain(group, name):
                waits = stage.values.get(file, "none") == [] or stage.waits_for(ROOT / file)
                assert waits, f"{address} does not wait for {file}"
    for key in deciding(keys_of(stage.program)):
        if key in own and (key not in stage.given or key in chosen) and key not in ("name", "corpus"):
            assert key in stage.values.get(f"conf/{stage.program}.yaml", []), f"{address} does not wait for {key}"


def chain(group: str, name: str) -> list[str]:
    """The file of a group's entry, and those that it builds on."""
    file = f"conf/{group}/{name}.yaml"
    bases = [base for base in OmegaConf.load(ROOT / file).get("defaults", []) if base != "_self_"]
    return [file, *(file for base in bases for file in chain(group, base))]


@each_stage
def test_a_stage_waits_for_the_data_and_the_files_that_its_keys_name(address):
    stage = ALL[address]
    config = settings(stage.program, *stage.overrides)
    named = [getattr(config, key, "") for key in ("data", "features", "resume")]
    if stage.program == "ngram":
        named += [config.ngram.path, config.clusters if config.ngram.kind == "classes" else ""]
    elif stage.program == "preprocess":
        named.append(config.corpus.raw)
    for name in filter(None, named):
        assert stage.waits_for(ROOT / name), f"{address} does not wait for {name}"


@each_stage
def test_a_stage_writes_where_its_command_says(address):
    stage = ALL[address]
    out = ROOT / stage.given["out"]
    assert stage.program == "page" or all(path.is_relative_to(out) or "csv" in stage.given for path in stage.outs)


# An edit of a file, and the stages that it must make stale. None of the first makes an array stale, in any table.
HARMLESS = {
    "pipeline/running/messages.py": ("is there room", "is there any room"),
    "pipeline/running/training_watch.py": ("(running)", "(running sum)"),
    "pipeline/config/network.py": ("LARGEST = 100_000", "LARGEST = 200_000"),
    "pipeline/running/tracking.py": ('"nplm.group"', '"nplm.groups"'),
    "pipeline/config/recipe.py": ("Adam's, above zero", "Adam's, above nothing"),
    "pipeline/webpage/page.md.j2": ("Does it replicate", "Does it hold"),
    "pipeline/running/progress.py": ("unit_scale=True", "unit_scale=False"),
    "pipeline/core/families/of_ones_own.py": ("", '"""A new family."""\n'),
    "pipeline/commands/new.py": ("", '"""A new command."""\n'),
    "pipeline/core/readers/csv.py": ("", '"""A new reader."""\n'),
}
NETWORKS = {place for place, address in ONE_OF_EACH.items() if ALL[address].program == "train"}
SCORED = NETWORKS | {
    place
    for place, address in ONE_OF_EACH.items()
    if ALL[address].program in ("shortlist", "adapt", "out_of_vocabulary", "word_map")
}
COUNTED = {place for place, address in ONE_OF_EACH.items() if CORE / "ngrams" in ALL[address].deps}
COMPUTED = {place for place, address in ONE_OF_EACH.items() if CORE / "common" in ALL[address].deps}
STREAMS = {"experiments/later/dvc.yaml:train", "experiments/later/dvc.yaml:adapt"}
DECIDING = {
    "training/optimiser.py": ("recipe.rate / (1 +", "recipe.rate / (2 +", NETWORKS),  # the rate
    "networks/base.py": ("round(256 * self.p)", "round(255 * self.p)", SCORED),  # dropout
    "training/trainer.py": ("if recipe.weight_decay:", "if not recipe.weight_decay:", NETWORKS),
    "training/sampling.py": ("(counts + 1.0) ** power", "(counts + 2.0) ** power", NETWORKS),
    "common/mixture.py": ("tolerance: float = 1e-7", "tolerance: float = 1e-6", COMPUTED),  # EM
    "ngrams/kneser_ney.py": ("FIXED = (0.5,", "FIXED = (0.6,", COUNTED),  # discounts
    "ngrams/bins.py": ("(1 + frequency)", "(2 + frequency)", COUNTED),
    "families/lstm.py": ("batch_first=True", "batch_first=bool(1)", STREAMS),
    "common/evaluation.py": ("correction == 0", "correction <= 0", COMPUTED),  # the correction for unseen words
}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of the checkout, and of the code that each stage depends on the hashes as it stands there."""
    folder = tmp_path_factory.mktemp("checkout")
    copy_of_checkout(folder)
    with pytest.MonkeyPatch.context() as patch, Repo(folder) as repo:
        patch.chdir(folder)
        code = defaultdict(dict)  # of each stage, by path: what any of its items depends on
        for stage in repo.index.stages:
            for dep in stage.deps:
                if "/pipeline/" in str(dep.fs_path):
                    code[stage.addressing.split("@")[0]].setdefault(str(dep.fs_path), dep)
        code = {place: list(deps.values()) for place, deps in code.items()}
        with repo.lock:
            for dep in (dep for deps in code.values() for dep in deps):
                dep.save()
        yield repo, code


def stale(repo: Repo, code: dict[str, list], edits: dict[str, tuple[str, str]]) -> set[str]:
    """The stages whose code some edits, which are taken back, make differ from what it was."""
    files = {Path(repo.root_dir, name): edit for name, edit in edits.items()}
    texts = {file: file.read_text(encoding="utf-8") if file.is_file() else "" for file in files}
    try:
        for file, (before, after) in files.items():
            assert before in texts[file], f"{file} has no {before!r}"
            file.write_text(texts[file].replace(before, after) if before else after, encoding="utf-8")
        with repo.lock:
            return {place for place, deps in code.items() if any(dep.changed_checksum() for dep in deps)}
    finally:
        for file, text in texts.items():
            file.unlink()
            if text:
                file.write_text(text, encoding="utf-8")


def test_what_says_something_makes_nothing_stale(checkout):
    """All ten edits at once."""
    assert {ALL[ONE_OF_EACH[place]].program for place in stale(*checkout, HARMLESS)} <= SAYS


@pytest.mark.parametrize("name", DECIDING)
def test_what_decides_a_number_makes_exactly_the_right_stages_stale(checkout, name):
    before, after, stages = DECIDING[name]
    assert stale(*checkout, {f"pipeline/core/{name}": (before, after)}) == stages
