"""What README, reports and lock promise is so."""

import configparser
import math
import os
import re
import shlex
import subprocess

import pandas as pd
import pytest
from conftest import settings
from dvc.repo import Repo
from mistakes import listed

from pipeline import claims
from pipeline.commands import verify
from pipeline.config import groups
from pipeline.config.tables import read_tables
from pipeline.core.common.errors import InputError
from pipeline.reporting import prose
from pipeline.reporting import table as tables
from pipeline.running import tracking
from pipeline.running.app import ROOT

PIPELINES = ["dvc.yaml", *sorted(str(file.relative_to(ROOT)) for file in ROOT.glob("experiments/*/dvc.yaml"))]
PAGE = "experiments/page/dvc.yaml"
README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def stages():
    """Every stage as DVC reads it, by the name that `dvc repro` takes."""
    with Repo(ROOT) as repo:
        loaded = [(file, stage) for file in PIPELINES for stage in repo.stage.load_all(str(ROOT / file))]
    return {stage.name if file == "dvc.yaml" else f"{file}:{stage.name}": stage for file, stage in loaded}


def test_the_planted_mistakes_fit_the_code():
    """It is none of a mistake's tests, which it would all fail by itself."""
    every = listed()
    assert len(every) >= 25 and not any("test_promises" in each.tests for each in every)


def test_every_make_target_of_the_readme_exists():
    named = set(re.findall(r"^make ([\w-]+)|`make ([\w-]+)`", README, re.MULTILINE))
    targets = set(re.findall(r"^([\w-]+):", MAKEFILE, re.MULTILINE))
    assert {a or b for a, b in named} <= targets


PROGRAMS = "|".join(file.stem for file in (ROOT / "conf").glob("*.yaml"))
COMMANDS = [
    command
    for file in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "conf").glob("*.yaml"))
    for command in re.findall(rf"(?:-m pipeline\.|nplm )((?:{PROGRAMS}) [^`#\n]*)", file.read_text(encoding="utf-8"))
    if file.name != "extend.md"  # which another test follows step by step
    and "NAME" not in command
    and "$" not in command  # a script of the shell: AP's, which test_preprocess.py reads
]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_a_stage_in_the_documentation_composes(command):
    """Hydra resolves it without running it, and its values are what the stage takes.

    Those of models are run in test_pipeline.py."""
    stage, *words = shlex.split(command)
    overrides = [word for word in words if word not in ("-m", "--help")]
    if "-m" in words:  # a grid: its first job
        overrides = [re.sub(r"=([^,]+),.*", r"=\1", word) for word in overrides]
    settings(stage, *overrides)


def test_every_stage_that_a_command_of_dvc_names_is_in_the_pipeline(stages):
    """In the documentation, but for the page that adds stages, and in the Makefile."""
    pages = [file.read_text(encoding="utf-8") for file in (ROOT / "docs").glob("*.md") if file.name != "extend.md"]
    text = "\n".join([MAKEFILE.replace("$(1)", "table2"), README, *pages])
    named = [name for words in re.findall(r"dvc repro((?: [\w./:@-]+)+)", text) for name in words.split()]
    assert {"preprocess", "train@mlp5-0"} <= set(named)
    known = {*PIPELINES, *stages, *(name.partition("@")[0] for name in stages)}
    assert not [name for name in named if name[0] != "-" and name not in known]


ARCHITECTURES = {  # n, h, m, direct: Table 1, Table 2, and the figures of NIPS 2000, whose n counts the context alone
    **{"mlp1": (5, 50, 60, True), "mlp3": (5, 0, 60, True), "mlp5": (5, 50, 30, True), "mlp7": (3, 50, 30, True)},
    **{"mlp9": (5, 100, 30, False), "large": (6, 60, 100, True)},
    **{f"direct5-h{h}": (6, h, 30, True) for h in (0, 10, 20, 40, 80)},
    **{f"cycling{words}": (words + 1, 30, 30, False) for words in (1, 3, 5, 8)},
}


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_model_of_the_paper_has_the_papers_architecture(name):
    model = settings("train", f"model={name}").model
    assert (model.n, model.h, model.m, model.direct) == ARCHITECTURES[name]
    assert model.family == ("energy" if name.startswith("cycling") else "feedforward")


TABLES = {name: table for name, table in read_tables(ROOT / "conf" / "table").items() if table.dvc.endswith("dvc.yaml")}


def test_two_tables_make_nothing_in_the_same_place():
    places = [table.predictions[0] for table in TABLES.values()]
    assert len(set(places)) == len(places)


def test_a_table_and_its_pipeline_name_the_same_models(stages):
    """And no stage makes a model that no table has."""
    made = {name for table in TABLES.values() for seeds in table.names.values() for name in seeds.values() if name}
    models = re.compile(r"-m pipeline\.(train|ngram|mix|adapt|shortlist) ")
    assert made == {name for name, stage in stages.items() if models.search(stage.cmd)}


def test_every_model_that_a_claim_names_is_in_its_table(stages):
    """And what a claim asks for follows from figures that the paper prints; anything at all where it prints none."""
    judging = [stage.cmd.split() for stage in stages.values() if "-m pipeline.claims" in stage.cmd]
    assert len(judging) > 6
    for command in judging:
        _check_claims(settings("claims", *(word for word in command if word.startswith(("table=", "claims=")))))


def _check_claims(config):
    named = [name for claim in config.claims for name in (*claim.better, *claim.than)]
    named += [name for pair in config.exploratory for name in (pair.better, pair.than)]
    named += [name for claim in config.epochs for name in (claim.quick, claim.slow)]
    assert set(named) | {claim.name for claim in config.falling} <= set(config.table.names)
    for claim in config.claims:
        for split in claims.EVAL_SPLITS:
            paper, least, most = claims.printed_gain(claim, config.table.rows, split)
            assert least < paper < most or (claim.kind == "better" and math.isnan(paper))


def test_a_mixture_depends_on_its_components(stages):
    """The stages as DVC reads them: of each that mixes, what its configuration names is what it waits for."""
    mixing = [stage for stage in stages.values() if "-m pipeline.mix" in stage.cmd]
    assert len(mixing) > 20
    for stage in mixing:
        words = dict(word.partition("=")[::2] for word in stage.cmd.split())
        given = {"network": words.get("network", ""), "seed": words.get("seed", "0")}
        paths = {os.path.relpath(dependency.fs_path, ROOT) for dependency in stage.deps}
        for part in groups.composed("mix", words["mix"])["components"]:
            for key, value in given.items():
                part = part.replace(f"${{{key}}}", value)
            ends = (f"/{part}", f"/{part.partition('/')[0]}")  # or the folder of all seeds
            assert any(path.endswith(ends) for path in paths), f"{stage.addressing} does not wait for {part}"


def test_nothing_is_sent_anywhere():
    settings = configparser.ConfigParser()
    settings.read(ROOT / ".dvc" / "config")
    assert settings["core"]["analytics"] == "false"
    assert os.environ["MLFLOW_DISABLE_TELEMETRY"] == "true", f"{tracking.__name__} sets it"


def test_the_locks_are_current():
    """A clone without data has nothing to do for Table 1 and the page."""
    with Repo(ROOT) as repo:
        assert not repo.reproduce([str(ROOT / "dvc.yaml")], dry=True, allow_missing=True)
        assert not repo.reproduce([str(ROOT / PAGE)], dry=True, allow_missing=True, single_item=True)


def test_the_page_needs_nothing_but_what_is_committed(stages):
    """So it can be made in a clone where only Table 2 was trained, without Brown."""
    ours = [stage for name, stage in stages.items() if name.startswith(PAGE)]
    needed = {os.path.relpath(each.fs_path, ROOT) for stage in ours for each in stage.deps}
    assert {"reports", "reports/table1.csv"} <= needed
    for path in needed:
        listed = subprocess.run(["git", "ls-files", path], cwd=ROOT, capture_output=True, text=True, check=True)
        assert listed.stdout, f"{path} is not in git"


@pytest.mark.parametrize("page", ["README.md", "docs/results.md"])
def test_the_tables_of_a_page_are_those_of_the_reports(page, tmp_path):
    written = (ROOT / page).read_text(encoding="utf-8")
    (tmp_path / "page.md").write_text(written, encoding="utf-8")
    prose.put_tables(tmp_path / "page.md", ROOT / "reports")
    assert "<!-- table: " in written and (tmp_path / "page.md").read_text(encoding="utf-8") == written


def test_the_headline_holds_by_both_trainings():
    """On validation, raw, not surely below what the paper's figures show. What test says is for the report alone."""
    for table in ("table1", "published"):
        claims = pd.read_csv(ROOT / "reports" / "claims" / table / "claims.csv").query("evaluation == 'raw'")
        headline = claims[claims["says"] == "the best network is far better than the best n-gram"]
        assert headline.query("split == 'valid'")["holds"].item() != "no"


def test_verify_allows_half_a_percent_or_the_seeds_spread():
    """On the committed table itself; its first two rows with figures of their own."""
    committed = tables.read(ROOT / verify.TABLE)
    assert verify.compare(committed, committed)["holds"].all()
    committed = committed[:2].assign(valid_raw=[250.0, 280.0], valid_raw_sd=[None, 4.0])
    assert verify.compare(committed.assign(valid_raw=[251.0, 287.0]), committed)["holds"].all()
    off = verify.compare(committed.assign(valid_raw=[252.0, 289.0]), committed)
    assert off.loc[~off["holds"], ["name", "split"]].to_numpy().tolist() == [
        [name, "valid"] for name in committed.index
    ]
    assert not verify.compare(committed[:1], committed)["holds"].all()


def test_verify_asks_for_a_run_where_there_is_none(few, tmp_path):
    """The committed table alone proves nothing."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "brown").symlink_to(few)
    with pytest.raises(InputError, match=r"no predictions of mlp1/0 in .*/table1: run `dvc repro train@mlp1-0`"):
        verify.table_of_run(tmp_path)
