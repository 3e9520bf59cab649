"""A configuration is checked before a stage works: all its faults at once, each a line with the key, its value and what
it may be; and every file that is shipped composes."""

import re
from pathlib import Path

import pytest
from conftest import settings
from dvc.utils.serialize import load_yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from pipeline.config import check, groups
from pipeline.config.base import ROOT
from pipeline.config.network import Architecture
from pipeline.core.common.errors import InputError
from pipeline.core.networks import registry
from pipeline.running.check_family import check_family


def faults(stage: str, *overrides: str) -> list[str]:
    """The lines that are said of a configuration."""
    with pytest.raises(InputError) as refused:
        settings(stage, *overrides)
    return str(refused.value).split("\n")


def test_all_faults_are_named_at_once():
    assert faults("train", "seed=-1", "model.h=many", "recipe.epoch=3", "recipe.rate=nan") == [
        "model.h=many: should be a valid integer, unable to parse string as an integer",
        "recipe.rate=nan: should be a finite number",
        "recipe.epoch: train has no such key; did you mean recipe.epochs? `nplm train --help` lists all",
        "seed=-1: should be greater than or equal to 0",
    ]


WRONG = """
train: model.n=1 | model.direct=false model.h=0 | recipe.rate=0 | recipe.batch=1e13 | recipe.epsilon=0 | device=abacus
train: recipe.sampling=none | score_train=500 | +nothing=1 | name=../x | name='' | out=README.md | out=/none/such/place
ngram: ngram.order=0 | ngram=kn5 ngram.classes=20 | ngram=interpolated3 ngram.order=4
cluster: classes=1
mix: mix.weights=[0.5,0.6] | mix.weights=[1.0] | mix=by-frequency mix.weights=[0.5,0.5]
adapt: adapt.thetas=[] | adapt.rates=[1e-4]
features: m=9000
preprocess: corpus.raw='' | corpus.files='[' | corpus.encoding=klingon | corpus.format=pdf | corpus.train=80
preprocess: corpus.splits.train=a
report: table.seeds=[0,0] | table.baselines=[mlp2] | table.baselines=[kn5,kn5] | name=a/b
"""
CASES = [(stage, case) for stage, cases in re.findall("^(.+?): (.+)$", WRONG, re.M) for case in cases.split(" | ")]


@pytest.mark.parametrize(("stage", "words"), CASES)
def test_a_value_that_cannot_be_used_is_named_with_its_key(stage, words):
    """The last word's, or with the group that the key is of."""
    [line] = [line for line in faults(stage, *words.split()) if not line.startswith("timing")]
    key = words.split()[-1].partition("=")[0].strip("+")
    named = re.match(r"[\w.]+(?=[=:, ])", line)[0]
    assert f"{key}.".startswith(f"{named}."), line


def shape(**values) -> Architecture:
    return Architecture(
        **{"n": 5, "h": 4, "m": 3, "direct": True, "indexed": False, "activation": "tanh", "deep": None} | values
    )


PATHS = ["é.txt", "我", "a (1).txt", "a=b", "#1", "x!;", "it's", "back\\", "josé@x (1)/a\\'b"]


def test_a_path_is_given_as_people_give_it():
    """Hydra's grammar takes none of these without quotes; a list, a number and a text in quotes stay what they are."""
    parse = OverridesParser.create().parse_override
    for path in PATHS:
        assert parse(*check.added([f"corpus.raw={path}"])).value() == path
    assert parse(*check.added(["corpus.raw=~/a.txt"])).value() == str(Path.home() / "a.txt")
    assert parse(*check.added(["corpus.raw='a,b'"])).value() == "a,b"
    assert parse(*check.added(["corpus.marks=[text]"])).value() == ["text"]


@pytest.mark.parametrize("group", groups.LISTED)
def test_dvc_can_set_a_key_of_one_entry_alone(group):
    """`dvc exp run -S conf/models.yaml:mlp5.m=60`: an entry that is an alias of another would take the value back."""
    listed = load_yaml(ROOT / "conf" / groups.LISTED[group])
    assert len({id(keys) for keys in listed.values()}) == len(listed)
    assert group == "mix" or not OmegaConf.missing_keys(OmegaConf.create(listed))  # one is enough to refuse all


def test_a_listed_entry_that_is_none_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(groups, "CONF", tmp_path)
    groups.entries.cache_clear()
    for text in ("mlp1: {n: 5", "mlp1: 5", "[mlp1]"):
        (tmp_path / "models.yaml").write_text(text)
        with pytest.raises(InputError, match=r"models\.yaml: .*(mlp1|line 1|no keys)"):
            groups.choices("model")
    groups.entries.cache_clear()


def test_a_family_says_what_it_has(monkeypatch, tmp_path):
    """What it lacks is named, and a file that is there and can't be used is named with its reason."""
    assert check_family(shape(family="feedforward")).__name__ == "FeedforwardNetwork"
    with pytest.raises(InputError, match=r"^model\.indexed=true: the feedforward family .*\nmodel\.deep\.layers: "):
        check_family(shape(family="feedforward", indexed=True, deep={"layers": 2}))
    with pytest.raises(InputError, match=r"^model\.deep\.layers: the residual family needs it"):
        check_family(shape(family="residual"))
    with pytest.raises(InputError, match="choose one of energy, feedforward, "):
        check_family(shape(family="no such"))
    (tmp_path / "broken.py").write_text("import nothing_of_this_name")
    (tmp_path / "wide.py").write_text(
        "from pipeline.core.families.feedforward import FeedforwardNetwork\n\n\n"
        "class WideNetwork(FeedforwardNetwork):\n    pass\n"
    )
    monkeypatch.setattr(registry.families, "__path__", [*registry.families.__path__, str(tmp_path)])
    with pytest.raises(InputError, match=r"broken\.py: ModuleNotFoundError: No module named 'nothing_of_this_name'"):
        check_family(shape(family="broken"))
    assert check_family(shape(family="wide")).options == ("direct", "activation")  # a family may subclass another


READERS = {"model": "train", "recipe": "train", "corpus": "preprocess", "table": "report"}  # else the group's own name
SHIPPED = [
    (READERS.get(group, group), f"{group}={choice}")
    for group in groups.names()
    if group not in ("search", "hydra")
    for choice in groups.choices(group)
]


@pytest.mark.parametrize(("stage", "choice"), SHIPPED)
def test_every_entry_of_a_group_composes(stage, choice):
    given = {"corpus=text": ["corpus.raw=novel.txt"], "ngram=arpa": ["ngram.path=a.arpa"]}.get(choice, [])
    chosen = settings(stage, choice, *given)
    if choice.startswith("model="):
        check_family(chosen.model)
