"""What README, reports and lock promise is so."""

import configparser
import fcntl
import importlib
import math
import os
import re
import shlex
import shutil
import subprocess
import sys

import pandas as pd
import pytest
import yaml
from conftest import composed, resolved
from dvc.repo import Repo
from omegaconf import OmegaConf

from benchmarks import race
from pipeline import claims, report
from pipeline.commands import verify
from pipeline.data.errors import InputError
from pipeline.reporting import table as reporting
from pipeline.running import tracking
from pipeline.running.app import ROOT

PIPELINES = ["dvc.yaml", *sorted(str(file.relative_to(ROOT)) for file in ROOT.glob("experiments/*/dvc.yaml"))]
README = (ROOT / "README.md").read_text(encoding="utf-8")
RESULTS = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def test_every_make_target_of_the_readme_exists():
    named = set(re.findall(r"^make ([\w-]+)|`make ([\w-]+)`", README, re.MULTILINE))
    targets = set(re.findall(r"^([\w-]+):", MAKEFILE, re.MULTILINE))
    assert {a or b for a, b in named} <= targets


def test_make_help_lists_every_target_that_a_user_calls():
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for target in re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE).group(1).split():
        assert f"make {target}" in shown


@pytest.mark.skipif(not shutil.which("flock"), reason="targets wait for each other where flock is there")
def test_a_target_waits_for_one_that_is_under_way(tmp_path):
    """It says so, and begins when the other has ended; then, in a folder without the project, it fails."""
    (tmp_path / "Makefile").write_text(MAKEFILE)
    command = ["make", "--assume-old=.venv/installed", "page"]
    with (tmp_path / ".make.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        outside = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MAKELEVEL")}
        heard = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        process = subprocess.Popen(command, cwd=tmp_path, env=outside, **heard)
        assert "another target is under way in this checkout; this one waits for it" in process.stdout.readline()
        assert process.poll() is None
    process.communicate()
    assert process.returncode != 0


COMMANDS = [
    command
    for file in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))
    for command in re.findall(r"-m (pipeline\.\w+[^`#\n]*)", file.read_text(encoding="utf-8"))
    if file.name != "extend.md"  # which another test follows step by step
    and "$" not in command  # a script of the shell: AP's, which test_preprocess.py reads
]
STAGES = {file.stem for file in (ROOT / "conf").glob("*.yaml")}


@pytest.mark.parametrize("command", [command for command in COMMANDS if re.split(r"[. ]", command)[1] in STAGES])
def test_every_command_of_a_stage_in_the_documentation_composes(command):
    """Hydra resolves it without running it. Those of models are run in test_pipeline.py."""
    module, *words = shlex.split(command)
    overrides = [word for word in words if word != "-m"]
    if "-m" in words:  # a grid: its first job
        overrides = [re.sub(r"=([^,]+),.*", r"=\1", word) for word in overrides]
    resolved(module.removeprefix("pipeline."), importlib.import_module(module).Config, *overrides)


def test_every_stage_that_a_command_of_dvc_names_is_in_the_pipeline():
    """In the documentation and in the Makefile."""
    stages = {"": yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]}
    for file in PIPELINES[1:]:
        stages[f"{file}:"] = yaml.safe_load((ROOT / file).read_text())["stages"]
    pages = [file for file in (ROOT / "docs").glob("*.md") if file.name != "extend.md"]  # which adds stages
    texts = [MAKEFILE.replace("$(1)", "table2"), README, *(file.read_text(encoding="utf-8") for file in pages)]
    named = [
        name
        for text in texts
        for words in re.findall(r"dvc repro((?: [\w./:@-]+)+)", text)
        for name in words.split()
        if not name.startswith("-")
    ]
    assert {"preprocess", "train@mlp5-0"} <= set(named)
    for name in named:
        if name.endswith(".yaml"):
            assert name in PIPELINES
            continue
        file, colon, stage = name.rpartition(":")
        assert stage.partition("@")[0] in stages[file + colon], name


ARCHITECTURES = {  # n, h, m, direct: Table 1, Table 2, and the figures of NIPS 2000, whose n counts the context alone
    **{"mlp1": (5, 50, 60, True), "mlp3": (5, 0, 60, True), "mlp5": (5, 50, 30, True), "mlp7": (3, 50, 30, True)},
    **{"mlp9": (5, 100, 30, False), "large": (6, 60, 100, True)},
    **{f"direct5-h{h}": (6, h, 30, True) for h in (0, 10, 20, 40, 80)},
    **{f"cycling{words}": (words + 1, 30, 30, False) for words in (1, 3, 5, 8)},
}


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_model_of_the_paper_has_the_papers_architecture(name):
    model = {"direct": False} | yaml.safe_load((ROOT / "conf" / "model" / f"{name}.yaml").read_text())
    assert tuple(model[key] for key in ("n", "h", "m", "direct")) == ARCHITECTURES[name]
    assert model["family"] == ("energy" if name.startswith("cycling") else "feedforward")


def table_of(name: str) -> reporting.Table:
    """A table of conf/table, as the stages that take it see it."""
    return composed("report", report.Config, f"table={name}").table


@pytest.mark.parametrize("name", ["table1", "table2", "table2-repeats", "ap", "beyond", "faithful", "faithful20"])
def test_every_row_of_a_table_has_its_stage(name):
    """What an error about missing predictions tells to run is there."""
    listed = table_of(name)
    with Repo(ROOT) as repo:
        stages = {stage.addressing for stage in repo.stage.load_all(str(ROOT / listed.dvc))}
    found = {os.path.relpath(stage, ROOT) if ":" in stage else stage for stage in stages}
    for model, seeds in listed.names.items():
        for stage in seeds.values():
            assert not stage or stage in found, f"{model}: {stage} is none of {sorted(found)}"


JUDGED = [  # the claims of a file, on a table
    *(("table1", "table1"), ("faithful", "faithful"), ("faithful", "faithful20")),
    *(("beyond", "beyond"), ("table2", "table2"), ("table2", "table2-repeats"), ("table2", "ap")),
]


@pytest.mark.parametrize(("said", "table"), JUDGED)
def test_every_model_that_a_claim_names_is_in_its_table(said, table):
    """And what a claim asks for follows from figures that the paper prints; anything at all where it prints none."""
    config = composed("claims", claims.Config, f"claims={said}", f"table={table}")
    named = [name for claim in config.claims for name in (*claim.better, *claim.than)]
    named += [name for pair in config.exploratory for name in (pair.better, pair.than)]
    named += [name for claim in config.epochs for name in (claim.quick, claim.slow)]
    assert set(named) | {claim.name for claim in config.falling} <= set(config.table.names)
    for claim in config.claims:
        for split in claims.SPLITS:
            paper, least, most = claims.printed(claim, config.table.rows, split)
            assert least < paper < most or (claim.kind == "better" and math.isnan(paper))


def test_what_the_paper_claims_in_words_its_figures_say():
    """24 and 33 % over the best n-gram and the trigram on Brown, 8 % on AP News."""
    both = ("table1", "table2")
    brown, ap = (composed("claims", claims.Config, f"claims={name}", f"table={name}") for name in both)
    shown = [
        claims.printed(claim, config.table.rows, "test")
        for config in (brown, ap)
        for claim in config.claims
        if "%" in claim.figure
    ]
    assert [round(paper, 2) for paper, _, _ in shown] == [0.24, 0.33, 0.07]


@pytest.mark.parametrize("file", PIPELINES)
def test_a_mixture_depends_on_its_components(file):
    """The stages as DVC reads them: of each that mixes, what its configuration names is what it waits for."""
    with Repo(ROOT) as repo:
        mixing = [stage for stage in repo.stage.load_all(str(ROOT / file)) if "-m pipeline.mix" in stage.cmd]
    assert mixing or file in ("experiments/page/dvc.yaml", "experiments/senate/dvc.yaml")
    for stage in mixing:
        words = dict(word.partition("=")[::2] for word in stage.cmd.split())
        mixture = yaml.safe_load((ROOT / "conf" / "mix" / f"{words['mix']}.yaml").read_text())
        given = {"${network}": words.get("network", ""), "${seed}": words.get("seed", "0")}
        read = {os.path.relpath(dependency.fs_path, ROOT) for dependency in stage.deps}
        for part in mixture["components"]:
            for key, value in given.items():
                part = part.replace(key, value)
            assert any(path.endswith(f"/{part}") for path in read), f"{stage.addressing} does not wait for {part}"


def test_nothing_is_sent_anywhere():
    settings = configparser.ConfigParser()
    settings.read(ROOT / ".dvc" / "config")
    assert settings["core"]["analytics"] == "false"
    assert os.environ["MLFLOW_DISABLE_TELEMETRY"] == "true", f"{tracking.__name__} sets it"
    assert not any(section.startswith("'remote") for section in settings)


def test_the_table_of_the_readme_is_the_reports():
    assert (ROOT / "reports" / "replication.md").read_text(encoding="utf-8") in README


def test_what_the_readme_counts_in_its_table_is_there():
    """Rows at or below the paper's ratio, and rows that the best mixture of n-grams is below, on both splits."""
    table = pd.read_csv(ROOT / "reports" / "replication.csv", index_col="name")
    networks = table[table["row"].str.startswith("MLP")]
    said = " ".join(README.split())
    reached, beaten = {}, {}
    for whose in ("procedure", "recipe"):
        ours = {split: networks[f"{whose}_{split}_ratio"] for split in ("valid", "test")}
        reached[whose] = [int((ours[split] <= networks[f"paper_{split}_ratio"]).sum()) for split in ours]
        best = {split: table.loc["best-ngram", f"{whose}_{split}_ratio"] for split in ours}
        (beaten[whose],) = {int((ours[split] > best[split]).sum()) for split in ours}
    valid, test = reached["procedure"]
    words = "The paper's own procedure reaches it in {} of the ten rows on validation and in {} on test."
    assert words.format(valid, test) in said
    words = "Today's recipe reaches the paper's ratio in {} of the ten rows on validation and in {} on test."
    assert words.format(*reached["recipe"]) in said
    words = "is better than {} of these rows and than {} by today's recipe, on both splits"
    assert words.format(beaten["procedure"], beaten["recipe"]) in said


def reached(table: pd.DataFrame, yardstick: str, printed: str, ending: str = "_raw") -> dict[str, int]:
    """How many networks and mixtures are at or below the paper's ratio: ours to `yardstick`, there to `printed`."""
    networks = table[table["row"].str.startswith("MLP") & table["paper_test"].notna()]
    holds = {
        split: networks[split + ending] / table.loc[yardstick, split + ending]
        <= networks[f"paper_{split}"] / table.loc[printed, f"paper_{split}"]
        for split in ("valid", "test")
    }
    holds["both"] = holds["valid"] & holds["test"]
    return {name: int(each.sum()) for name, each in holds.items()}


def test_what_the_readme_says_of_yardsticks_epochs_and_mixing_is_in_the_tables():
    said, page = " ".join(README.split()), " ".join(RESULTS.split())
    files = {name: [f"{name}/{name}.csv", f"{name}/extra.csv"] for name in ("faithful", "faithful20")}
    files["table1"] = ["table1.csv", "extra.csv"]
    tables = {
        name: pd.concat(pd.read_csv(ROOT / "reports" / file, index_col="name") for file in both)
        for name, both in files.items()
    }
    short, long = (tables[name] for name in ("faithful", "faithful20"))
    perplexities = [
        f"{each.loc['mlp5', 'valid_raw']:.1f} / {each.loc['mlp5', 'test_raw']:.1f}" for each in (long, short)
    ]
    counted = reached(long, "kn5", "kn5")
    assert "(MLP5: {} in place of {} on validation / test, raw)".format(*perplexities) in page
    words = "After 20 epochs for all networks the counts are still {} and {}."
    assert words.format(counted["valid"], counted["test"]) in said
    assert f"are still {counted['valid']} and {counted['test']}. Ratios" in page
    by_class = [reached(each, "class500-3", "class500-3")["both"] for each in (short, long)]
    by_class += {reached(each, "class500-3", "class500-3", "")["both"] for each in (short, long)}  # one number
    words = (
        "{} of the ten rows by the paper's procedure reach its ratio on both splits, and {} after 20 epochs, but {} "
        "with share."
    )
    assert words.format(*by_class) in page and len(by_class) == 3
    words = "{} of the ten rows by the paper's procedure reach its ratio on both splits, but {} with share."
    assert words.format(by_class[0], by_class[2]) in said
    by_srilm = [reached(each, "kn5-srilm", "kn5")["both"] for each in (short, long)]
    assert "Over Kneser-Ney 5 in SRILM's back-off form, raw, {} do, and {} after 20 epochs.".format(*by_srilm) in page
    gains = {}
    for name, ending in (("faithful", "_raw"), ("table1", "_raw"), ("table1", "")):
        networks = ["mlp1", "mlp3", "mlp5", "mlp7", "mlp9"]
        figures = tables[name][[f"valid{ending}", f"test{ending}"]]
        mixed = figures.loc[[f"{network}-mixed" for network in networks]].to_numpy()
        gained = 100 * (figures.loc[networks].to_numpy() / mixed - 1)
        gains[name + ending] = f"{gained.min():.1f} to {gained.max():.1f} %"
    words = "it gains {} by the paper's procedure and {} by today's recipe (with share {})"
    assert words.format(gains["faithful_raw"], gains["table1_raw"], gains["table1"]) in said


def test_the_headline_in_the_readme_is_the_claims():
    """By how much the best network is better than the best n-gram, raw, on both splits; and its perplexities."""
    said, shown, holds = " ".join(README.split()), {}, {}
    for name in ("table1", "faithful"):
        claims = pd.read_csv(ROOT / "reports" / "claims" / name / "claims.csv").query("reading == 'raw'")
        claims = claims[claims["says"] == "the best network is far better than the best n-gram"].set_index("split")
        shown[name] = " / ".join(f"{100 * claims.loc[split, 'ours']:.1f}" for split in ("valid", "test"))
        holds[name] = set(claims["holds"])
    paper = " / ".join(f"{100 * claims.loc[split, 'paper']:.0f}" for split in ("valid", "test"))
    assert f"its best network is {paper} % better than its best n-gram" in said
    words = (
        "is {} % better than our best single n-gram by today's recipe (MLP2, {}) and {} % by the paper's procedure "
        "(MLP10, {})"
    )
    tables = pd.read_csv(ROOT / "reports" / "replication.csv", index_col="row").loc[["MLP2", "MLP10"]]
    mlp2, mlp10 = (
        " / ".join(f"{tables.loc[row, f'{whose}_{split}']:.1f}" for split in ("valid", "test"))
        for row, whose in (("MLP2", "recipe"), ("MLP10", "procedure"))
    )
    assert words.format(shown["table1"], mlp2, shown["faithful"], mlp10) in said
    assert holds == {"table1": {"yes"}, "faithful": {"no"}}


def test_what_came_after_stands_in_the_readme_as_the_report_has_it():
    assert (ROOT / "reports" / "timeline" / "timeline.md").read_text() in README
    assert "![Test perplexity by the year" in README.split("\n## ")[0]  # the picture at the top


def test_what_the_readme_says_of_what_came_after_is_in_its_table():
    said = " ".join(README.split())
    rows = pd.read_csv(ROOT / "reports" / "timeline" / "timeline.csv", index_col="name")
    shown = {name: f"{line['valid']:.1f} / {line['test']:.1f}" for name, line in rows.iterrows()}
    for name, words in (
        ("awd-lstm", "regularised after Merity and others, has {} (validation / test, with share)"),
        ("mlp1", "where MLP1 by today's recipe has {}."),
        ("everything", "mixed with the other networks and the n-grams, have {}."),
        ("dynamic-average", "after it is scored (dynamic evaluation), has {}."),
    ):
        assert words.format(shown[name]) in said, name
    steps = pd.read_csv(ROOT / "reports" / "timeline" / "steps.csv")
    went = [f"{100 * line.valid_share:.0f} / {100 * line.test_share:.0f} %" for line in steps.itertuples()]
    words = (
        "by the paper's procedure goes {}, today's recipe {}, the LSTM, which reads all words before and has a recipe "
    )
    words += "and size of its own, {}, dynamic evaluation {}, and the average {}."
    assert words.format(*went) in said


def test_a_table_says_what_its_figures_are_of():
    for ending in ("md", "tex"):
        files = (f"table1.{ending}", f"table2/table2.{ending}")
        table1, table2 = ((ROOT / "reports" / file).read_text() for file in files)
        assert "another corpus than ours" in table2 and "another corpus than ours" not in table1
        assert all("hold the interpolated model" in text for text in (table1, table2))


@pytest.mark.parametrize("file", [file for file in PIPELINES if (ROOT / file).with_suffix(".lock").is_file()])
def test_the_lock_is_current(file):
    """A clone without data has nothing to do: the committed results are those of the committed code."""
    called = [
        sys.executable,
        "-m",
        "dvc",
        "repro",
        "--allow-missing",
        "--dry",
        *(["--single-item"] if "page" in file else []),
        file,
    ]
    ended = subprocess.run(called, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert "Running stage" not in ended.stdout, ended.stdout


def test_the_page_needs_nothing_but_what_is_committed():
    """So it can be made in a clone where only Table 2 was trained, without Brown."""
    with Repo(ROOT) as repo:
        stages = repo.stage.load_all(str(ROOT / "experiments" / "page" / "dvc.yaml"))
    needed = {os.path.relpath(each.fs_path, ROOT) for stage in stages for each in stage.deps}
    assert {"reports", "reports/table1.csv"} <= needed
    for path in needed:
        listed = subprocess.run(["git", "ls-files", path], cwd=ROOT, capture_output=True, text=True, check=True)
        assert listed.stdout, f"{path} is not in git"


def test_on_validation_every_network_and_mixture_reaches_the_papers_ratio():
    """By today's recipe, to Kneser-Ney 5 and the paper's best n-gram, raw. What test says is for the report alone."""
    ratios = pd.read_csv(ROOT / "reports" / "table1-ratios.csv").query("paper_valid.notna()")
    assert ratios["row"].tolist() == [f"MLP{k}" for k in range(1, 11)] * 2
    assert (ratios["valid_raw"] <= ratios["paper_valid"]).all()


def test_the_figures_of_table2_in_the_text_are_the_reports():
    """Each beside what it is over, without repeats and with: test, and validation in brackets; the README has both."""

    def ratios(table: str) -> pd.DataFrame:
        found = pd.read_csv(ROOT / "reports" / table / f"{table}-ratios.csv", index_col=["name", "over"])
        return found.select_dtypes("number").map(lambda value: f"{value:.3f}".removeprefix("0"))

    shown, repeats = ratios("table2"), ratios("table2-repeats")
    page = " ".join(RESULTS.split())
    table2 = page[page.index("**Table 2.**") :]
    for name, over, words in (
        ("large-mixed", "interpolated3", "over the trigram {},"),
        ("large-mixed", "kn5", "over our interpolated Kneser-Ney 5 {}, with"),
        ("large-mixed", "kn5-srilm", "seen once dropped, {}."),
        ("large-mixed", "best-ngram-500", "weights learned on validation, {}."),
        ("large", "kn5", "the network by itself {} (and"),
        ("large", "interpolated3", "(and {} of the trigram)"),
        ("large-learned", "kn5", "with one learned weight {};"),
        ("large-by-frequency", "kn5", "by the context's frequency {};"),
        ("large-with-kn5", "kn5", "in place of the trigram {}."),
        ("large-with-kn5", "best-ngram-500", "mixed with Kneser-Ney 5 has {} of the best n-gram's"),
    ):
        assert words.format(f"{shown['test'][name, over]} ({shown['valid'][name, over]})") in table2, (name, over)
    ends = shown.loc["large-mixed", "kn5"]
    assert f"{ends['test_low']} to {ends['test_high']} ({ends['valid_low']} to {ends['valid_high']})" in table2
    said = " ".join(README.split())
    for figures, over, in_page, in_readme in (
        (repeats, "interpolated3", "network and trigram has {} of the trigram's", "(one seed) the ratios are {} and"),
        (repeats, "kn5", "and {} of the interpolated Kneser-Ney 5's (one seed)", "and {}: there Kneser-Ney 5"),
        (shown, "interpolated3", "{}", "mixed with the trigram has {} of the trigram's"),
        (shown, "best-ngram-500", "{}", "which the paper does not have, its ratio is {}."),
        (shown, "kn5", "{}", "and {} of our interpolated Kneser-Ney 5's"),
    ):
        both = figures["valid"]["large-mixed", over], figures["test"]["large-mixed", over]
        assert in_page.format("{1} ({0})".format(*both)) in table2 and in_readme.format("{} / {}".format(*both)) in said


def test_what_the_readme_says_of_table2s_network_is_the_claims_and_the_configuration():
    said = " ".join(README.split())
    model = OmegaConf.load(ROOT / "conf" / "model" / "large.yaml")
    assert model.direct and f"n = {model.n}, h = {model.h}, m = {model.m}, with direct connections" in said
    claims = pd.read_csv(ROOT / "reports" / "claims" / "table2" / "claims.csv").query("reading == 'raw'")
    claims = claims[claims["says"] == "the mixed network is better than the best n-gram"].set_index("split")
    better = {
        who: " / ".join(f"{100 * claims.loc[split, who]:.1f}" for split in ("valid", "test"))
        for who in ("ours", "paper")
    }
    words = "it is {ours} % better than the best single n-gram, where the paper's is {paper} %."
    assert words.format(**better) in said


def test_the_requirements_are_all_pinned_and_name_no_address():
    lines = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.\-]+==[\w.]+", line) for line in lines)
    assert "torch==2.13.0" in lines


def table(**changes):
    rows = {"valid_sd": [None, 4.0], "test_sd": [None, 4.0], "valid": [250.0, 280.0], "test": [230.0, 260.0]}
    return pd.DataFrame(rows | changes, index=pd.Index(["mlp1", "mlp3"], name="name"))


def test_verify_allows_half_a_percent_or_the_seeds_spread():
    assert verify.compare(table(), table())["holds"].all()
    assert verify.compare(table(valid=[251.0, 287.0]), table())["holds"].all()
    off = verify.compare(table(valid=[252.0, 289.0]), table())
    assert off.loc[~off["holds"], ["name", "split"]].to_numpy().tolist() == [["mlp1", "valid"], ["mlp3", "valid"]]


def test_verify_misses_no_row():
    assert not verify.compare(table().iloc[:1], table())["holds"].all()


def test_verify_asks_for_a_run_where_there_is_none(few, tmp_path):
    """The committed table alone proves nothing."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "brown").symlink_to(few)
    with pytest.raises(InputError, match=r"no predictions of mlp1/0 in .*/table1: run `dvc repro train@mlp1-0`"):
        verify.ours(tmp_path)


def test_on_validation_free_weights_mix_no_worse_than_fixed_ones():
    """Of the fixed 0.5, one learned weight and weights by context frequency each can do what the one before does."""
    valid = pd.read_csv(ROOT / "reports" / "beyond" / "extra.csv", index_col="name")["valid"]
    for network in ("mlp1", "mlp3", "mlp5", "mlp7", "mlp9"):
        ways = [valid[f"{network}-{way}"] for way in ("by-frequency", "learned", "mixed")]
        assert ways == sorted(ways)


def test_the_race_in_the_text_is_the_benchmarks():
    """Words a second against the fastest of stock, and what each comes to at its best, of both shapes."""
    said, page = " ".join(README.split()), " ".join(RESULTS.split())
    shapes = {model: pd.read_csv(ROOT / "reports" / "benchmark" / f"race_{model}.csv") for model in race.MODELS}
    times, best, full = {}, {}, {}
    for model, runs in shapes.items():
        speed = race.speeds(runs)
        assert (speed.drop("ours").idxmax() == "sparse_bfloat16").iloc[0]
        times[model] = speed.loc["ours"] / speed.drop("ours").max()
        best[model] = runs.groupby("who")["with share"].min()
        full[model] = runs.set_index("who").loc["full"]
    words = "{:.2f} (MLP1) and {:.2f} times (MLP9) as many words a second as the fastest of them"
    assert words.format(*(each.iloc[0] for each in times.values())) in page
    words = (
        "{:.2f} (MLP1) and {:.2f} times (MLP9) as many words a second as the fastest of them, a sampled softmax with"
    )
    assert words.format(*(each.iloc[0] for each in times.values())) in said
    words = "and {:.2f} and {:.2f} times with one network on both cores"
    assert words.format(*(each.iloc[1] for each in times.values())) in page
    mlp1, mlp9 = best["mlp1"], best["mlp9"]
    assert mlp1.idxmin() == "ours"
    closest = mlp1.drop("ours").idxmin()
    words = f"For MLP1 ours ends lowest, at {mlp1['ours']:.1f}; the next is {NAMED[closest]} at {mlp1[closest]:.1f}"
    assert words in said and words in page
    own = shapes["mlp1"].set_index("who").loc[closest].set_index("epochs")
    assert (
        f"which ours reaches in {own.loc[own['with share'].idxmin(), 'times ours']:.2f} times fewer machine-seconds"
        in page
    )
    assert (mlp9.nsmallest(4).index == ["adaptive", "sparse_bfloat16", "sparse", "ours"]).all()
    words = f"For MLP9 three end lower than our {mlp9['ours']:.1f}: AdaptiveLogSoftmaxWithLoss, another model, at "
    words += f"{mlp9['adaptive']:.1f}, and the sparse forms at {mlp9['sparse_bfloat16']:.1f} and {mlp9['sparse']:.1f}"
    assert words in page and words.partition(":")[0] in said
    words = "the plain loop with the full softmax needs {:.0f} and {:.0f} times our machine-seconds"
    assert words.format(*(each["times ours"] for each in full.values())) in page


NAMED = {
    "sparse_bfloat16": "the fastest stock form",
    "adaptive": "AdaptiveLogSoftmaxWithLoss",
    "sampled": "fused AdamW",
}
