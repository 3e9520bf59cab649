"""The families of networks by name: files of pipeline/core/families, each with a class Network."""

import pkgutil
from importlib import import_module

from pipeline.core import families
from pipeline.core.common.settings import ModelSettings
from pipeline.core.networks.base import Network


def names() -> list[str]:
    """All families. None is imported for it."""
    return sorted(module.name for module in pkgutil.iter_modules(families.__path__))


def family(name: str) -> type[Network]:
    """The class of a family. Only its own file is imported, and those that it imports, so that no training depends on
    other families. Raises what the import raises."""
    return import_module(f"{families.__name__}.{name}").Network


def build(architecture: ModelSettings, vocabulary: int) -> Network:
    """A network of the architecture's family for so many words, all parameters zero."""
    return family(architecture.family)(architecture, vocabulary)
