"""A trained network, from the file with its weights."""

import json
from pathlib import Path

from safetensors import safe_open
from safetensors.torch import load_file

from pipeline.core.errors import InputError
from pipeline.core.networks.architecture import Architecture
from pipeline.core.networks.base import Network
from pipeline.core.networks.families import build


def read_network(folder: Path, vocabulary: int) -> Network:
    """The network whose weights a training wrote into a folder."""
    file = folder / "weights.safetensors"
    if not file.is_file():
        raise InputError(f"no weights in {file}: run the stage that trains {folder.parent.name}")
    with safe_open(file, framework="pt") as opened:
        architecture = Architecture(**json.loads(opened.metadata()["architecture"]))
    network = build(architecture, vocabulary)
    network.load_state_dict(load_file(file))
    return network
