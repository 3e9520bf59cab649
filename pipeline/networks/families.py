"""A network from its architecture. Only the family that it names is read, so that training one does not depend on the
code of the others."""

from importlib import import_module

from pipeline.networks.architecture import Architecture
from pipeline.networks.base import Network


def build(architecture: Architecture, vocabulary: int) -> Network:
    """A network of the architecture's family, all parameters zero."""
    return import_module(f"pipeline.networks.{architecture.family}").Network(architecture, vocabulary)
