"""A trained network or its features, from the file with its weights."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from pydantic import ValidationError
from safetensors import SafetensorError, safe_open

from pipeline.config.network import Architecture
from pipeline.core.common.errors import InputError
from pipeline.data import record

if TYPE_CHECKING:
    from pipeline.core.networks.base import Network

WEIGHTS = "weights.safetensors"
LARGEST = 1e4  # weight: trained ones are a thousandth of it


def read_features(folder: Path) -> np.ndarray:
    """C (V, m) of the network whose weights a training wrote into a folder."""
    with _readable(folder) as file, safe_open(file, "numpy") as weights:  # which needs no torch
        return weights.get_tensor("C")


def read_network(folder: Path, vocabulary: int) -> "Network":
    """The network whose weights a training wrote into a folder."""
    from safetensors.torch import load_file

    from pipeline.core.networks import registry

    with _readable(folder) as file:
        # run.json leaves out what is null.
        model = Architecture.model_validate({"deep": None, "activation": "tanh"} | record.read(folder).config["model"])
        network = registry.build(model, vocabulary)
        weights = load_file(file)
        network.load_state_dict(weights)
    if not all((tensor.abs() < LARGEST).all() for tensor in weights.values()):  # or not a number
        raise InputError(f"{file} is damaged: it holds numbers that no training leaves; train it again")
    return network


@contextmanager
def _readable(folder: Path) -> Iterator[Path]:
    """The file of a network's weights. Raises InputError where there is none, or what the block reads is damaged."""
    file = folder / WEIGHTS
    if not file.is_file():
        networks = sorted(path.parents[1].name for path in folder.parents[1].glob(f"*/0/{WEIGHTS}"))
        raise InputError(f"{folder} holds no network's weights; networks there: {', '.join(networks) or 'none'}")
    try:
        yield file
    except (SafetensorError, RuntimeError, KeyError, ValidationError, ImportError) as error:  # or a run.json of another
        said = " ".join(str(error).split())[:200]
        raise InputError(f"{file} is damaged, or of another network ({said}): train it again") from error
