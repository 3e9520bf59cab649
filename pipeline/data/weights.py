"""Reads a trained network, or its word features, from the file with its weights."""

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
LARGEST = 1e4  # of a weight: trained weights are about a thousandth of it


def read_features(folder: Path) -> np.ndarray:
    """The word features C (V, m) of the trained network in a folder."""
    with _readable(folder) as file, safe_open(file, "numpy") as weights:  # no torch needed
        return weights.get_tensor("C")


def read_network(folder: Path, vocabulary: int) -> "Network":
    """The trained network in a folder. vocabulary: words, V."""
    from safetensors.torch import load_file

    from pipeline.core.networks import registry

    with _readable(folder) as file:
        # run.json leaves out keys that are null.
        model = Architecture.model_validate({"deep": None, "activation": "tanh"} | record.read(folder).config["model"])
        network = registry.build(model, vocabulary)
        weights = load_file(file)
        network.load_state_dict(weights)
    if not all((tensor.abs() < LARGEST).all() for tensor in weights.values()):  # or not a number
        raise InputError(f"{file} is damaged: it holds numbers that no training leaves; train it again")
    return network


@contextmanager
def _readable(folder: Path) -> Iterator[Path]:
    """The file of a network's weights. Raises InputError if there is none, or if the block finds it damaged."""
    file = folder / WEIGHTS
    if not file.is_file():
        networks = sorted(path.parents[1].name for path in folder.parents[1].glob(f"*/0/{WEIGHTS}"))
        raise InputError(f"{folder} holds no network's weights; networks there: {', '.join(networks) or 'none'}")
    try:
        yield file
    except (
        SafetensorError,
        RuntimeError,
        KeyError,
        ValidationError,
        ImportError,
    ) as error:  # or the run.json of another network
        message = " ".join(str(error).split())[:200]
        raise InputError(f"{file} is damaged, or of another network ({message}): train it again") from error
