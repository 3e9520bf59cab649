"""The groups of conf/, of which a command chooses one entry each, such as `model=mlp1`: most are folders with a file an
entry; a group of many small entries is one file that lists them, `conf/models.yaml` for one."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from pipeline.config.base import ROOT
from pipeline.core.common.errors import InputError

CONF = ROOT / "conf"
LISTED = {"model": "models.yaml", "ngram": "ngrams.yaml", "mix": "mixtures.yaml", "search": "searches.yaml"}


def names() -> list[str]:
    """All groups."""
    return sorted([*LISTED, *(path.name for path in CONF.iterdir() if path.is_dir())])


def choices(group: str) -> list[str]:
    """The entries of a group."""
    return sorted(entries(group) if group in LISTED else (file.stem for file in (CONF / group).glob("*.yaml")))


@cache
def entries(group: str) -> dict[str, dict[str, Any]]:
    """What a listed group has, by name. Raises InputError where its file is not what it should be."""
    file = CONF / LISTED[group]
    listed = OmegaConf.to_container(loaded(file))
    if wrong := [name for name, keys in listed.items() if not isinstance(keys, dict)]:
        raise InputError(f"{file}: {wrong[0]}: give its keys, as the lines beside it")
    return listed


def loaded(file: Path) -> DictConfig:
    """A file of YAML. Raises InputError where it is none, or no mapping."""
    try:
        values = OmegaConf.load(file)
    except (OSError, yaml.YAMLError, OmegaConfBaseException) as error:
        raise InputError(f"{file}: {' '.join(str(error).split())}") from error
    if not isinstance(values, DictConfig):
        raise InputError(f"{file}: no keys with values")
    return values


def composed(group: str, name: str) -> dict[str, Any]:
    """The keys of an entry, over those of the files that it builds on, as Hydra merges them."""
    if group not in LISTED:
        return merged(CONF / group / f"{name}.yaml")
    if name not in entries(group):
        raise InputError(
            f"{group}={name}: no such entry in {CONF / LISTED[group]}; there are {', '.join(choices(group))}"
        )
    return entries(group)[name]


def merged(file: Path) -> dict[str, Any]:
    """A file's values over those of the files beside it that its defaults name."""
    own = loaded(file)
    bases = [merged(file.with_name(f"{base}.yaml")) for base in own.pop("defaults", []) if base != "_self_"]
    return OmegaConf.to_container(OmegaConf.merge(*bases, own))


def register() -> None:
    """Makes the listed groups known to Hydra."""
    from hydra.core.config_store import ConfigStore

    for group, file in LISTED.items():
        for name, keys in entries(group).items():
            node, package = (_grid(name, keys), "_global_") if group == "search" else (keys, None)
            ConfigStore.instance().store(name, node, group, package, provider=f"conf/{file}")


def _grid(name: str, keys: dict[str, Any]) -> dict[str, Any]:
    """A search as Hydra has it."""
    shared = {key: value for key, value in keys.items() if key != "vary"}
    params = {key: ", ".join(map(str, values)) for key, values in keys.get("vary", {}).items()}
    own = {"sweeper": {"params": params}, "callbacks": {"grid": {"table": f"reports/searches/{name}.csv"}}}
    return {"score_train": False, **shared, "hydra": own}


def compose(stage: str, overrides: Sequence[str], **options: Any) -> DictConfig:
    """What Hydra composes of conf/<stage>.yaml and the overrides. options: of hydra.compose."""
    import hydra

    register()
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        return hydra.compose(stage, list(overrides), **options)
