"""The families of networks by name. Each file of pipeline/core/families is one: `gru.py` has a class GruNetwork."""

import pkgutil
from importlib import import_module

from pipeline.core import families
from pipeline.core.common.settings import ModelSettings
from pipeline.core.networks.base import Network


def names() -> list[str]:
    """The names of all families, without importing them."""
    return sorted(module.name for module in pkgutil.iter_modules(families.__path__))


def family(name: str) -> type[Network]:
    """The class of a family. Only its file is imported, so that no training depends on the files of other families.
    Raises what the import raises."""
    return getattr(import_module(f"{families.__name__}.{name}"), f"{name.title()}Network")


def build(architecture: ModelSettings, vocabulary: int) -> Network:
    """A network of the architecture's family for `vocabulary` words, with all parameters zero."""
    return family(architecture.family)(architecture, vocabulary)
