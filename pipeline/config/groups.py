"""The groups of conf/. A command chooses one entry of a group, such as `model=mlp1`. Most groups are folders with one
file per entry; a group with many small entries is one file that lists them, such as `conf/models.yaml`."""

from collections.abc import Iterable, Sequence
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
    """The names of all groups."""
    return sorted([*LISTED, *(path.name for path in CONF.iterdir() if path.is_dir())])


def choices(group: str) -> list[str]:
    """The names of a group's entries."""
    return sorted(entries(group) if group in LISTED else (file.stem for file in (CONF / group).glob("*.yaml")))


@cache
def entries(group: str) -> dict[str, dict[str, Any]]:
    """The entries of a listed group by name. Raises InputError if an entry in its file has no keys."""
    file = CONF / LISTED[group]
    keys_of_entries = OmegaConf.to_container(loaded(file))
    if without_keys := [name for name, keys in keys_of_entries.items() if not isinstance(keys, dict)]:
        raise InputError(f"{file}: {without_keys[0]}: give its keys, as the lines beside it")
    return keys_of_entries


def loaded(file: Path) -> DictConfig:
    """The values of a YAML file. Raises InputError if it can't be read or is not a mapping."""
    try:
        values = OmegaConf.load(file)
    except (OSError, yaml.YAMLError, OmegaConfBaseException) as error:
        raise InputError(f"{file}: {' '.join(str(error).split())}") from error
    if not isinstance(values, DictConfig):
        raise InputError(f"{file}: no keys with values")
    return values


def composed(group: str, name: str) -> dict[str, Any]:
    """The keys of an entry, merged over those of the files on which it builds, as Hydra does it."""
    if group not in LISTED:
        return merged(CONF / group / f"{name}.yaml")
    if name not in entries(group):
        raise InputError(
            f"{group}={name}: no such entry in {CONF / LISTED[group]}; there are {', '.join(choices(group))}"
        )
    return entries(group)[name]


def merged(file: Path) -> dict[str, Any]:
    """The values of a file, merged over those of the files beside it that its defaults list names."""
    values = loaded(file)
    bases = [merged(file.with_name(f"{base}.yaml")) for base in values.pop("defaults", []) if base != "_self_"]
    return OmegaConf.to_container(OmegaConf.merge(*bases, values))


def register(listed: Iterable[str] = LISTED) -> None:
    """Registers listed groups with Hydra; by default all."""
    from hydra.core.config_store import ConfigStore

    for group in listed:
        file = LISTED[group]
        for name, keys in entries(group).items():
            is_search = group == "search"
            node = _grid(name, keys) if is_search else keys
            package = "_global_" if is_search else None
            ConfigStore.instance().store(name, node, group=group, package=package, provider=f"conf/{file}")


def _grid(name: str, keys: dict[str, Any]) -> dict[str, Any]:
    """A search as a configuration of Hydra's."""
    shared = {key: value for key, value in keys.items() if key != "vary"}
    params = {key: ", ".join(map(str, values)) for key, values in keys.get("vary", {}).items()}
    hydra_keys = {"sweeper": {"params": params}, "callbacks": {"grid": {"table": f"reports/searches/{name}.csv"}}}
    return {"score_train": False, **shared, "hydra": hydra_keys}


def compose(stage: str, overrides: Sequence[str], **options: Any) -> DictConfig:
    """The configuration that Hydra composes from conf/<stage>.yaml and the overrides. options: of hydra.compose."""
    import hydra

    register()
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        return hydra.compose(stage, list(overrides), **options)
