"""A trained network or its features, from the file with its weights."""

from pathlib import Path

import numpy as np
from safetensors.torch import load_file

from pipeline.data import run
from pipeline.data.errors import InputError
from pipeline.networks.base import Architecture, Network, build


def folder_of(name: str, predictions: Path) -> Path:
    """The folder of a model named `mlp1` or, with a seed, `mlp1/2`; seed 0 where none is given."""
    return predictions / (name if "/" in name else f"{name}/0")


def read_features(folder: Path) -> np.ndarray:
    """C (V, m) of the network whose weights a training wrote into a folder."""
    return load_file(_file(folder))["C"].numpy()


def read_network(folder: Path, vocabulary: int) -> Network:
    """The network whose weights a training wrote into a folder."""
    file = _file(folder)
    network = build(Architecture(**run.read(folder).config["model"]), vocabulary)
    network.load_state_dict(load_file(file))
    return network


def _file(folder: Path) -> Path:
    file = folder / "weights.safetensors"
    if not file.is_file():
        networks = sorted(path.parents[1].name for path in folder.parents[1].glob("*/0/weights.safetensors"))
        raise InputError(f"{folder} holds no network's weights; networks there: {', '.join(networks) or 'none'}")
    return file
