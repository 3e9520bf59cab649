"""The real pipeline through real DVC, Hydra and MLflow, on twenty texts with tiny networks."""

import fcntl
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import partial
from itertools import chain
from pathlib import Path

import pandas as pd
import pytest
import requests
import slurm
import yaml
from mlflow import MlflowClient
from servers import free_port, wait_for

from pipeline.config import groups
from pipeline.running.app import ROOT
from pipeline.running.tracking import NOTE

TRACKED = ["conf", "pipeline", "experiments", "reports", "docs", "dvc.yaml", "README.md", "Makefile"]
TRACKED += ["requirements.txt", ".gitignore", ".dvcignore", "nplm.py"]
BIN = Path(sys.executable).parent


# Python runs this file first, in every process of the project: it notes the command, and each file that is opened, but
# for those that say in MLflow what the paper prints.
OPENED = """
import os, sys
log = os.open(os.path.join(os.environ["OPENED"], str(os.getpid())), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.write(log, ("\\0".join(sys.orig_argv[1:]) + "\\n").encode())
def of_the_paper(frame):
    while frame and not frame.f_code.co_filename.endswith("running/paper.py"):
        frame = frame.f_back
    return frame
def note(event, arguments):
    if event == "open" and isinstance(arguments[0], str) and not of_the_paper(sys._getframe()):
        os.write(log, (os.path.abspath(arguments[0]) + "\\n").encode())
sys.addaudithook(note)
"""


class Project:
    """A checkout of its own."""

    def __init__(self, folder):
        self.folder = folder
        # The tests may run under make themselves, whose inner make would then tell of the folders that it enters.
        left_out = ("MLFLOW_TRACKING_URI", "MAKEFLAGS", "MAKELEVEL")
        clean = {key: value for key, value in os.environ.items() if key not in left_out}
        self.environment = clean | {"PATH": f"{BIN}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}

    def run(self, *command: str) -> str:
        ended = subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
        return ended.stdout + ended.stderr

    def begin(self, *command: str, **environment: str) -> subprocess.Popen:
        """The same, not waited for and not heard of."""
        nowhere = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(command, cwd=self.folder, env=self.environment | environment, **nowhere)

    def repro(self, *more: str) -> set[str]:
        """`dvc repro`; the stages that ran."""
        return set(re.findall(r"Running stage '([^']+)'", self.run("dvc", "repro", *more)))

    def edit(self, name: str, **values) -> None:
        """Gives keys of a file of conf/ other values; of a list's entry those of its keys that are given."""
        path = self.folder / "conf" / f"{name}.yaml"
        there = yaml.safe_load(path.read_text())
        values = {key: there[key] | value if isinstance(value, dict) else value for key, value in values.items()}
        path.write_text(yaml.safe_dump(there | values, sort_keys=False))

    def narrow_table1(self) -> None:
        """Leaves seven of its models and one seed, which is quicker; each kind of stage still has one."""
        models = {"train": ["mlp1", "mlp9"], "ngram": ["interpolated3", "kn5-srilm", "kn5"]}
        models |= {"class_ngram": ["class500-3-srilm"], "ngram_mix": ["best-ngram"]}
        path = self.folder / "conf" / "table" / "table1.yaml"
        table = yaml.safe_load(path.read_text())
        made = {*chain(*models.values()), *(f"{name}-mixed" for name in models["train"])}
        table |= {"seeds": [0], "models": models, "clusterings": [500]}
        table["mix"]["networks"] = models["train"]
        table["rows"] = {name: row for name, row in table["rows"].items() if name in made}
        path.write_text(yaml.safe_dump(table, sort_keys=False))
        path = self.folder / "conf" / "claims" / "table1.yaml"
        claims = yaml.safe_load(path.read_text())
        for claim in claims["claims"]:
            claim |= {side: [name for name in claim[side] if name in made] for side in ("better", "than")}
        claims["claims"] = [claim for claim in claims["claims"] if claim["better"] and claim["than"]]
        claims["exploratory"] = [claim for claim in claims["exploratory"] if {claim["better"], claim["than"]} <= made]
        path.write_text("# @package _global_\n" + yaml.safe_dump(claims, sort_keys=False))
        self.edit("mixtures", **{"best-ngram": {"components": ["kn5/0", "class500-3-srilm/0"]}})
        path = self.folder / "dvc.yaml"
        pipeline = yaml.safe_load(path.read_text())
        mixture = pipeline["stages"]["ngram_mix"]
        others = [dep for dep in mixture["deps"] if not dep.startswith("predictions")]
        mixture["deps"] = [*others, "predictions/table1/kn5/0", "predictions/table1/class500-3-srilm/0"]
        path.write_text(yaml.safe_dump(pipeline, sort_keys=False))


def stored(project: Project) -> tuple[MlflowClient, list]:
    """A checkout's store, and the runs in it."""
    client = MlflowClient(f"sqlite:///{project.folder / 'mlflow.db'}")
    return client, client.search_runs([client.get_experiment_by_name("nplm-brown-30-texts").experiment_id])


@pytest.fixture(scope="module")
def project(tmp_path_factory, brown_raw):
    folder = tmp_path_factory.mktemp("project")
    for name in TRACKED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, folder / name)
    project = Project(folder)
    project.edit("corpus/brown", path=str(brown_raw), texts=30, train=0.7, valid=0.15)
    project.edit("recipe/modern", epochs=1, batch=64, samples=50)
    project.narrow_table1()
    project.edit("cluster", passes=1)
    project.edit("models", **{name: {"m": 2, "h": 3} for name in ("mlp1", "mlp9")})
    (folder / ".venv").symlink_to(sys.prefix)
    project.run("git", "init", "--quiet")
    project.run("git", "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "x", "--allow-empty")
    project.run("dvc", "init", "--quiet")
    shutil.copy2(ROOT / ".dvc" / "config", folder / ".dvc" / "config")
    project.run("dvc", "config", "cache.dir", "cache")
    project.opened = folder / "opened"
    project.opened.mkdir()
    (project.opened / "sitecustomize.py").write_text(OPENED)
    project.environment |= {"PYTHONPATH": str(project.opened), "OPENED": str(project.opened)}
    project.output = project.run("make", "--assume-old=.venv/installed", "repro")
    project.environment = {key: project.environment[key] for key in project.environment if "OPENED" not in key}
    project.environment.pop("PYTHONPATH")
    return project


def test_one_command_gives_the_table(project):
    table = pd.read_csv(project.folder / "reports" / "table1.csv")
    ngrams = ["Deleted interpolation", "Kneser-Ney back-off", "class-based back-off"]
    assert table["row"].tolist() == ["MLP1", "MLP2", "MLP9", "MLP10", *ngrams] and (table["seeds"] == 1).all()
    extra = pd.read_csv(project.folder / "reports" / "extra.csv")
    assert len(extra) == 2 and extra.columns.tolist() == table.columns.tolist()
    assert table[["valid_corrected", "test_corrected"]].notna().all(axis=None)
    assert table.loc[table["mix"] != True, "train_raw"].notna().all()  # noqa: E712
    others = table[table["row"] != "Kneser-Ney back-off"]  # which gives unseen words all that is left
    assert (others["valid_corrected"] < others["valid_raw"]).all() and table["test_raw"].notna().all()
    ratios = (
        pd.read_csv(project.folder / "reports" / "table1-ratios.csv").groupby("over")["test_corrected_ratio"].agg(list)
    )
    networks = table.loc[table["model"] == "network", "test_corrected"]
    assert ratios["kn5-srilm"] == pytest.approx(networks / table["test_corrected"][5], abs=1e-4)
    markdown = (project.folder / "reports" / "table1.md").read_text()
    rows = (project.folder / "reports" / "replication.md").read_text()
    readme = (project.folder / "README.md").read_text()
    assert all(re.search(rf"\| +{value:.1f} ", markdown) for value in table["test_corrected"])
    for valid, test, model in zip(table["valid_raw"], table["test_raw"], table["model"], strict=True):
        cell = f" {valid:.1f} / {test:.1f} |"
        assert cell in rows and (cell in readme or model != "network")
    assert markdown in project.output
    assert re.search(rf"make repro took \d+ min\n{project.folder}/reports/index.html$", project.output.rstrip())
    (*_, (number, count)) = re.findall(r"^\[(\d+) of (\d+) stages; about .* left\]$", project.output, re.MULTILINE)
    assert number == count == "14"  # download, preprocess, report and claims beside the ten that have runs
    assert "MLP10" in (project.folder / "reports" / "index.html").read_text()
    assert (project.folder / "reports" / "table1.svg").read_text().count("<path") > 5
    assert r"\begin{tabular}" in (project.folder / "reports" / "table1.tex").read_text()


def test_all_that_a_stage_opens_is_declared(project):
    """Data, results and configuration; its code is read off its imports (test_dvc.py).

    Not what a stage opens to say in MLflow which row of the paper a run stands for: no number depends on that.
    """
    locked = {}
    for lock in ("dvc.lock", "experiments/page/dvc.lock"):
        for stage in yaml.safe_load((project.folder / lock).read_text())["stages"].values():
            locked["\0".join(shlex.split(stage["cmd"])[1:])] = stage
    seen = set()
    for log in project.opened.glob("[0-9]*"):
        command, *files = log.read_text().splitlines()
        if command not in locked:
            continue
        stage, module = locked[command], command.split("\0")[1].removeprefix("pipeline.")
        known = {part["path"] for part in [*stage.get("deps", []), *stage.get("outs", [])]} | set(
            stage.get("params", {})
        )
        known |= {f"conf/{module}.yaml", "timings", "checkpoints", "mlflow.db", ".mlflow.lock"}
        known |= {f"conf/{file}" for file in groups.LISTED.values()}  # Hydra is given all entries
        for file in set(files):
            path = Path(file)
            if project.folder not in path.parents or not path.is_file():  # a folder is opened to be locked, or tried
                continue
            name = path.relative_to(project.folder)
            if name.parts[0] in ("pipeline", ".venv", "opened", ".dvc", "cache"):
                continue
            around = {name.as_posix(), *(parent.as_posix() for parent in name.parents)}
            assert around & known, f"{module} opens {name}, which is not among {sorted(known)}"
        seen.add(module)
    stages = {"preprocess", "train", "ngram", "cluster", "mix", "report", "claims", "replication", "page"}
    assert stages <= seen


def test_its_runs_are_one_group_in_mlflow(project):
    client, runs = stored(project)
    parents = [run.info.run_id for run in runs if run.data.tags["stage"] == "pipeline"]
    children = [run for run in runs if run.data.tags["stage"] != "pipeline"]
    assert len(parents) == 1
    assert {run.data.tags["mlflow.parentRunId"] for run in children} == set(parents)
    names = {run.info.run_name for run in children}
    made = [*project.folder.glob("predictions/table1/*/0"), *project.folder.glob("clusters/brown/*")]
    assert len(names) == len(children) == len(made) == 10
    trained = next(run for run in children if run.info.run_name == "mlp9-0")
    assert {"valid_raw", "test_corrected", "train_raw", "cost/seconds", "curve/valid_perplexity"} <= set(
        trained.data.metrics
    )
    assert trained.data.params["recipe.name"] == "modern"
    assert trained.data.tags[NOTE] == "MLP9. The paper's perplexity: train 175, valid 280, test 276."
    assert trained.data.metrics["paper_valid"] == 280
    assert len(client.get_metric_history(trained.info.run_id, "curve/valid_perplexity")) == 1


def test_runs_reach_mlflow_where_the_report_comes_out_as_it_was(project, tmp_path):
    """DVC skips such a report, and it is in a report that `dvc repro` by itself logs the runs of its table."""
    again = Project(project.folder)
    again.environment["MLFLOW_TRACKING_URI"] = f"sqlite:///{tmp_path}/again.db"
    assert again.repro("--force", "--no-run-cache", "--single-item", "ngram@kn5") == {"ngram@kn5"}
    printed = again.run("make", "--assume-old=.venv/installed", "repro")
    assert "Running stage" not in printed and "[0 stages ran, 14 were up to date" in printed
    client = MlflowClient(again.environment["MLFLOW_TRACKING_URI"])
    experiment = client.get_experiment_by_name("nplm-brown-30-texts").experiment_id
    assert {run.info.run_name for run in client.search_runs([experiment], "tags.stage = 'ngram'")} == {"kn5-0"}


def test_repeated_it_does_nothing_and_a_comment_or_a_multirun_changes_nothing(project):
    recipe = project.folder / "conf" / "recipe" / "modern.yaml"
    recipe.write_text("# a comment\n" + recipe.read_text())
    project.run(sys.executable, "-m", "pipeline.train", "-m", "model.n=2,3", "model.h=2")
    assert project.repro() == set()
    changed = re.findall(r"^(\S+):$", project.run("dvc", "status"), re.MULTILINE)
    assert all(stage.startswith("experiments/") for stage in changed), changed  # which have not been run here


def test_pulled_results_need_no_training(project, tmp_path):
    """The lines of docs/use.md, with a folder as the remote and an empty cache: make repro runs no stage."""
    page = (ROOT / "docs" / "use.md").read_text(encoding="utf-8")
    host, commit, user = re.findall(r"^((?:dvc remote|git commit|make pull).*?)(?:  +#.*)?$", page, re.M)
    project.run("bash", "-euc", host.replace("URL", str(tmp_path / "remote")))
    project.run("git", "config", "user.name", "t")
    project.run("git", "config", "user.email", "t@example.org")
    project.run("git", "add", *TRACKED, "dvc.lock")
    project.run("bash", "-euc", commit)
    clone = Project(tmp_path / "clone")
    project.run("git", "clone", "--quiet", project.folder, clone.folder)
    clone.run("dvc", "config", "--local", "cache.dir", str(tmp_path / "empty"))
    (clone.folder / ".venv").symlink_to(sys.prefix)
    printed = clone.run("bash", "-euc", user.replace("make", "make --assume-old=.venv/installed"))
    assert "Running stage" not in printed and "Data and pipelines are up to date" in printed
    assert not (clone.folder / "mlflow.db").exists() and not (clone.folder / "timings").exists()
    for file in ("reports/table1.csv", "predictions/table1/mlp9/0/valid.npy"):
        assert (clone.folder / file).read_bytes() == (project.folder / file).read_bytes()


@pytest.mark.thorough
def test_an_archive_without_git_below_any_path_that_then_moves(project, tmp_path):
    """make repro makes what an edit asks for, in a path that trips programs: of an edited model itself, its mixture and
    the reports. Nothing where the checkout then lies."""
    old, new = tmp_path / "a b" / "josé@x (1)", tmp_path / "new"
    left = shutil.ignore_patterns(".git", "config.local", "mlflow.db", "opened", "outputs")
    shutil.copytree(project.folder, old, symlinks=True, ignore=left)
    archive = Project(old)
    archive.edit("models", mlp9={"h": 5})
    ran = re.findall(r"Running stage '([^']+)'", archive.run("make", "--assume-old=.venv/installed", "repro"))
    reports = {"report", "claims", "experiments/page/dvc.yaml:replication", "experiments/page/dvc.yaml:page"}
    assert set(ran) == {"train@mlp9-0", "mix@mlp9-mixed-0"} | reports
    assert {run.info.run_name for run in stored(archive)[1]} > {"mlp9-0", "mlp9-mixed-0"}
    old.rename(new)
    assert Project(new).repro() == set() and not old.exists()


def test_two_targets_in_one_checkout_take_turns(project):
    """The second says so, and goes on when the first has ended."""
    command, called = ["make", "--assume-old=.venv/installed", "page"], {"cwd": project.folder, "text": True}
    with (project.folder / ".make.lock").open("w") as first:
        fcntl.flock(first, fcntl.LOCK_EX)
        second = subprocess.Popen(command, **called, env=project.environment, stdout=subprocess.PIPE)
        assert "another target is under way" in second.stdout.readline()
        assert second.poll() is None
    said, _ = second.communicate()
    assert second.returncode == 0 and "didn't change, skipping" in said


@pytest.mark.thorough
def test_one_stage_after_another_gives_the_same_bits(project):
    lock = yaml.safe_load((project.folder / "dvc.lock").read_text())["stages"]["train@mlp9-0"]["outs"]
    project.environment.pop("OMP_NUM_THREADS")
    assert project.repro("--force", "--no-run-cache", "--single-item", "train@mlp9-0") == {"train@mlp9-0"}
    again = yaml.safe_load((project.folder / "dvc.lock").read_text())["stages"]["train@mlp9-0"]["outs"]
    assert lock == again


@pytest.mark.thorough
@pytest.mark.skipif(not slurm.IS_HERE, reason="apt-get install slurm-wlm munge")
def test_stages_that_are_jobs_of_slurm_leave_the_same_lock(project, tmp_path):
    """All of them, as nothing lies in the cache."""
    jobs = Project(tmp_path / "jobs")
    left = shutil.ignore_patterns(".git", "cache", "mlflow.db", "opened", "outputs")
    shutil.copytree(project.folder, jobs.folder, symlinks=True, ignore=left)
    with slurm.cluster(tmp_path) as found:
        jobs.environment |= found
        jobs.run("make", "--assume-old=.venv/installed", "repro", "RUN=srun --ntasks=1", "JOBS=2")
        assert jobs.run("squeue", "--noheader", "--states=all", "--format=%j").split().count("dvc") > 6
    assert (jobs.folder / "dvc.lock").read_text() == (project.folder / "dvc.lock").read_text()


@pytest.mark.thorough
def test_the_demo_makes_a_table_of_its_own(project):
    """Every kind of model, and no row of another corpus among them."""
    output = project.run("make", "--assume-old=.venv/installed", "demo")
    reports = project.folder / "outputs" / "demo" / "reports"
    table = pd.read_csv(reports / "demo.csv")
    assert table["name"].tolist() == ["mlp9", "interpolated3", "kn3", "class150-3", "mlp9-mixed"]
    assert table["h"].tolist()[::4] == [20, 20]
    assert table[["valid_corrected", "test_corrected"]].notna().all(axis=None)
    assert not (reports / "extra.csv").exists()
    assert (reports / "demo.md").read_text() in output and "against paper" not in output


def test_the_commands_on_models_run(project, tmp_path):
    """Each as it stands in docs/use.md, its lines that load the arrays, and those of the README that load weights."""
    page = (ROOT / "docs" / "use.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (project.folder / "novel.txt").write_text("The jury said that the election was fair.\n")
    commands = re.findall(r"^((?:.* \| )?nplm (?!train|download|preprocess|ngram).*)$", page, re.M)
    assert len(commands) == 6
    called = (re.sub(r"\bnplm\b", f"{sys.executable} -m pipeline.commands", command) for command in commands)
    printed = [project.run("bash", "-euc", command) for command in called]  # by this folder's code
    assert "perplexity: " in printed[0] and "perplexity of kn5" in printed[3]
    assert (project.folder / "outputs" / "features" / "features.txt").is_file()
    elsewhere = {"cwd": tmp_path, "env": project.environment | {"PYTHONPATH": str(project.folder)}}
    called = [sys.executable, "-m", "pipeline.commands", "score", "mlp1"]
    assert subprocess.run(called, **elsewhere, input=b"It was fair.", capture_output=True).returncode == 0
    (lines,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    printed = project.run(sys.executable, "-c", lines).splitlines()
    expected = [line for line in printed if not line.startswith("words are in lower case")]
    assert len(expected) == 5 == len(printed) - 1 and all(0 < float(line.split()[1]) < 1 for line in expected)
    lines, runs, curve = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert "mlp1-0" in project.run(sys.executable, "-c", runs.replace("nplm-brown", "nplm-brown-30-texts"))
    assert (
        len(project.run(sys.executable, "-c", curve).strip().splitlines()) >= 3
    )  # a head, an epoch, the column's type
    metrics = (project.folder / "predictions" / "table1" / "mlp1" / "0" / "metrics.json").read_text()
    shown = project.run(sys.executable, "-c", lines)
    assert float(shown.split()[0]) == pytest.approx(json.loads(metrics)["test_corrected"], rel=1e-6)
    assert "the" in shown


@pytest.mark.thorough
def test_the_tour_runs(project):
    """Every cell of docs/tour.ipynb, on this folder's results; one of them compares with the report's table."""
    from nbclient import NotebookClient
    from nbformat import read

    notebook = read(ROOT / "docs" / "tour.ipynb", as_version=4)
    resources = {"metadata": {"path": str(project.folder)}}
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources=resources).execute()


@pytest.mark.thorough
def test_dvc_shows_compares_and_queues(project):
    """Plots; an experiment with another value, from the queue, whose runs are in the checkout's store."""
    project.run("git", "add", "--all")
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    project.run("git", *identity, "commit", "-qm", "results")
    drawn = project.run("dvc", "plots", "show", "learning curves", "--show-vega")
    assert all(f"{name}/0/curve.csv" in drawn for name in ("mlp1", "mlp9"))
    project.run("dvc", "exp", "run", "--queue", "--name", "wider", "-S", "conf/models.yaml:mlp1.m=3", "report")
    project.run("dvc", "exp", "run", "--run-all")
    difference = json.loads(project.run("dvc", "metrics", "diff", "HEAD", "wider", "--json"))
    assert difference["reports/metrics.json"]["mlp1.test_raw"]["diff"] != 0
    runs = [run for run in stored(project)[1] if run.info.run_name == "mlp1-0"]
    assert {run.data.params["model.m"] for run in runs} == {"2", "3"}


@pytest.mark.thorough
def test_published_models_are_registered_and_served(project):
    """In a real server: the best by validation answers over HTTP as the score command does."""
    port, serving = free_port(), free_port()
    store = project.folder / "server"
    server = project.begin(
        *[BIN / "mlflow", "server", "--port", str(port), "--workers", "1"],
        *["--backend-store-uri", f"sqlite:///{store}.db", "--artifacts-destination", str(store)],
        MLFLOW_SERVER_ENABLE_JOB_EXECUTION="false",  # seven processes that nobody needs
    )
    served = None
    try:
        wait_for(f"http://127.0.0.1:{port}/health")
        project.environment["MLFLOW_TRACKING_URI"] = f"http://127.0.0.1:{port}"
        publish = (sys.executable, "-m", "pipeline.commands", "publish", "--models", "mlp9", "best-ngram")
        best = re.search("2 models; the best of them by validation, (.*?),", project.run(*publish))[1]
        client = MlflowClient(f"http://127.0.0.1:{port}")
        assert "version 1" in project.run(*publish)  # again: nothing twice
        assert {model.name for model in client.search_logged_models(["1"])} == {"mlp9", "best-ngram"}
        assert len(client.search_model_versions("name = 'nplm'")) == len(client.search_logged_models(["1"])) - 1 == 1
        sentence = "The jury said xylophonist."
        (project.folder / "sentence.txt").write_text(sentence)
        score = (sys.executable, "-m", "pipeline.commands", "score", "--format", "json")
        scored = json.loads(project.run(*score, best, "sentence.txt"))
        serve = (BIN / "mlflow", "models", "serve", "-m", "models:/nplm@best", "--env-manager", "local")
        served = project.begin(*serve, "-p", str(serving))
        wait_for(f"http://127.0.0.1:{serving}/ping")
        texts = (sentence, None, " ", "half \ud800", "a" * 100_001)
        request = {"dataframe_records": [{"text": text} for text in texts]}
        ask = partial(requests.post, f"http://127.0.0.1:{serving}/invocations", timeout=600)
        nameless = ask(json={"dataframe_records": [{"sentence": sentence}]})
        assert nameless.status_code == 400 and "no column `text`" in nameless.text
        answer, *others = ask(json=request).json()["predictions"]
        assert all(other["error"] and other["perplexity"] is None for other in others)
        assert answer["perplexity"] == pytest.approx(scored["perplexity"], rel=1e-5) and answer["error"] is None
        assert [word["word"] for word in answer["words"]] == [row["word"] for row in scored["rows"]]
        assert answer["words"][3]["unknown"] is True
    finally:
        project.environment.pop("MLFLOW_TRACKING_URI", None)
        for process in (server, served):
            if process:
                process.terminate()
                process.wait()
