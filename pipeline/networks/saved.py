"""A trained network or its features, from the file with its weights."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from safetensors import safe_open

from pipeline.data import record
from pipeline.data.errors import InputError

if TYPE_CHECKING:
    from pipeline.networks.base import Network

WEIGHTS = "weights.safetensors"


def read_features(folder: Path) -> np.ndarray:
    """C (V, m) of the network whose weights a training wrote into a folder."""
    with safe_open(_file(folder), "numpy") as weights:  # which needs no torch
        return weights.get_tensor("C")


def read_network(folder: Path, vocabulary: int) -> "Network":
    """The network whose weights a training wrote into a folder."""
    from safetensors.torch import load_file

    from pipeline.networks.base import Architecture, build

    file = _file(folder)
    network = build(Architecture(**record.read(folder).config["model"]), vocabulary)
    network.load_state_dict(load_file(file))
    return network


def _file(folder: Path) -> Path:
    file = folder / WEIGHTS
    if not file.is_file():
        networks = sorted(path.parents[1].name for path in folder.parents[1].glob(f"*/0/{WEIGHTS}"))
        raise InputError(f"{folder} holds no network's weights; networks there: {', '.join(networks) or 'none'}")
    return file
