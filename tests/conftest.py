"""The real Brown corpus, taken through `download`, and twenty of its texts as a corpus of ids."""

import dataclasses
import math
import os
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch
from filelock import FileLock
from hydra.core.hydra_config import HydraConfig
from omegaconf import OmegaConf
from safetensors.torch import save_file
from tiny import FEW, RESULTS, words

from pipeline.config import check, groups
from pipeline.config.base import ROOT, Keys
from pipeline.config.network import Architecture
from pipeline.core.common.stream import digest
from pipeline.core.networks import registry
from pipeline.data.corpus import SPLITS, Corpus, read_corpus, write_corpus
from pipeline.data.predictions import write_predictions
from pipeline.data.record import Record

torch.set_num_threads(1)
os.environ["MLFLOW_TRACKING_URI"] = "sqlite:////dev/null/mlflow.db"  # a stage that a test calls tracks nothing
ROWS = """
same_corpus: true
rows:
  mlp9: {row: MLP9, train: 175, valid: 280, test: 276}
  kn3: {row: Kneser-Ney}
"""


def composed(stage: str, *overrides: str) -> dict:
    """What a stage's configuration comes to, before anything looks at its values."""
    given = [f"hydra.runtime.output_dir={tempfile.gettempdir()}/not-placed", *check.added(overrides)]
    OmegaConf.register_new_resolver("timing", lambda out: check.timing_of(stage, out), replace=True)
    config = groups.compose(stage, given, return_hydra_config=True)
    HydraConfig.instance().set_config(config)
    own = OmegaConf.masked_copy(config, [key for key in config if key != "hydra"])
    return OmegaConf.to_container(own, resolve=True, throw_on_missing=True)


def settings(stage: str, *overrides: str) -> Keys:
    """The settings of a stage, composed and checked as the stage does it."""
    return check.settings(stage, composed(stage, *overrides))


def run(stage: str, *overrides: object) -> None:
    """Runs a stage in this process."""
    import_module(f"pipeline.{stage}").main(settings(stage, *map(str, overrides)))


def changed(settings: Keys, **values) -> Keys:
    """Settings with some other values, checked too."""
    return type(settings).model_validate(settings.model_dump() | values)


def architecture(
    n: int, h: int, m: int, direct=False, family="feedforward", indexed=False, activation="tanh", **deep
) -> Architecture:
    """The shape of a network; of the keys below `deep` that its family has, those that are not given are 0, or 1."""
    deep = {key: int(key in ("layers", "heads")) for key in registry.family(family).deep_keys} | deep
    given = {"direct": direct, "family": family, "indexed": indexed, "activation": activation}
    return Architecture(n=n, h=h, m=m, deep=deep or None, **given)


def drawn(network: torch.nn.Module, spread: float = 1.0) -> torch.nn.Module:
    """A network whose parameters are drawn at random."""
    random = torch.Generator().manual_seed(1)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, 0, spread, generator=random)
    return network


@pytest.fixture(scope="session")
def brown_raw(tmp_path_factory) -> Path:
    """The 500 texts: from this checkout's data folder where they are, else fetched."""
    out = tmp_path_factory.mktemp("raw") / "brown"
    here = ROOT / "data" / "raw" / "brown"
    given = [f"corpus.path={here}"] if here.is_dir() else []
    run("download", f"out={out}", *given)
    return out


@pytest.fixture(scope="session")
def brown(brown_raw, tmp_path_factory) -> Corpus:
    """The whole corpus, preprocessed as shipped."""
    out = tmp_path_factory.mktemp("data") / "brown"
    run("preprocess", f"corpus.raw={brown_raw}", f"out={out}")
    return read_corpus(out)


@pytest.fixture(scope="session")
def few(brown_raw, tmp_path_factory) -> Path:
    """The folder of twenty texts, preprocessed."""
    out = tmp_path_factory.mktemp("data") / "few"
    run("preprocess", f"corpus.raw={brown_raw}", f"out={out}", *FEW)
    return out


@pytest.fixture(scope="session")
def results(few, tmp_path_factory) -> Path:
    """tiny.RESULTS below a folder, rows of its Table 1, and the store logged.db that the stages have logged into."""
    own = tmp_path_factory.getbasetemp()
    root = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "results"  # one for all of its processes
    with FileLock(f"{root}.lock"):
        if not (root / "made").is_file():
            make_results(root, few)
            (root / "made").touch()
    return root


def make_results(root: Path, few: Path) -> None:
    """What the fixture `results` has, below an empty place."""
    (root / "data").mkdir(parents=True)
    (root / "data" / "brown").symlink_to(few)
    (root / "conf" / "table").mkdir(parents=True)
    (root / "conf" / "table" / "table1.yaml").write_text(ROWS)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{root / 'logged.db'}")
        for out, command in RESULTS.items():
            stage, *more = command.format(root=root).split()
            timing = f"timing={root}/timings/{out.split('/')[1]}/{out.replace('/', '-')}.json"
            run(stage, *words(root, stage, root / out, timing, *more))


def noised(data: Path, folder: Path, *splits: str, start: int = 0) -> Path:
    """A folder with the corpus of another, and noise in the place of some splits, from a token on."""
    corpus, random = read_corpus(data), np.random.default_rng(0)
    noise = {}
    for split in splits:
        drawn = random.integers(len(corpus.vocabulary), size=len(corpus.ids(split)), dtype=np.int32)
        noise[split] = np.concatenate([corpus.ids(split)[:start], drawn[start:]])
    counts = corpus.counts | {"digest": digest(*(corpus.splits | noise).values())}
    write_corpus(folder, dataclasses.replace(corpus, **noise, counts=counts))
    return folder


@pytest.fixture
def stage(tmp_path):
    """Runs a stage as a user does, in a process of its own; tracking goes to a database of this test."""
    environment = os.environ | {"MLFLOW_TRACKING_URI": f"sqlite:///{tmp_path / 'mlflow.db'}", "OMP_NUM_THREADS": "1"}

    def call(name: str, *arguments: str, **options) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", f"pipeline.{name}", *map(str, arguments)]
        runs = [f"hydra.run.dir={tmp_path}/run", f"hydra.sweep.dir={tmp_path}/sweep"] if "." not in name else []
        usual = {"capture_output": True, "text": True, "cwd": ROOT, "env": environment}
        return subprocess.run([*command, *runs], **(usual | options))

    call.environment = environment
    return call


def made(folder: Path, corpus: Corpus, stage: str, **config) -> Path:
    """A folder of results with the run.json that its stage would write."""
    folder.mkdir(parents=True, exist_ok=True)
    Record(stage, folder.parent.name, 0, config, corpus.counts["digest"]).write(folder)
    return folder


def filled(folder: Path, corpus: Corpus, stage: str, log_p: float, **config) -> None:
    """A folder of results with a model that gives each token this log-probability, and one of validation half of it."""
    size = {"parameters": 28, "context": config["model"]["n"] - 1} if stage == "train" else {}
    each = {"train": log_p, "valid": log_p - math.log(2), "test": log_p}
    raw = {split: np.full(len(corpus.ids(split)), each[split], np.float32) for split in SPLITS}
    write_predictions(folder, corpus, raw, size)
    made(folder, corpus, stage, **config)


def made_network(folder: Path, corpus: Corpus, shape: Architecture) -> torch.nn.Module:
    """A folder of results with a network that nobody trained, as its stage would write them."""
    network = drawn(registry.build(shape, len(corpus.vocabulary)), 0.1).eval()
    raw = {split: network.score(corpus.ids(split), corpus.before(split), corpus.mark) for split in ("valid", "test")}
    size = {"parameters": sum(tensor.numel() for tensor in network.parameters()), "context": shape.n - 1}
    write_predictions(folder, corpus, raw, size)
    save_file(network.state_dict(), folder / "weights.safetensors")
    made(folder, corpus, "train", model=shape.model_dump(exclude_none=True))
    return network
