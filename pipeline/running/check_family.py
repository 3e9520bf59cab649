"""Whether the family of a network allows the architecture of conf/models.yaml. It imports the family, and so torch."""

from pipeline.config.network import Architecture
from pipeline.core.common.errors import InputError
from pipeline.core.networks import registry
from pipeline.core.networks.base import Network

# Keys that only some families have, with the value by which a network of another family goes without.
WITHOUT = {"direct": "false", "indexed": "false", "activation": "tanh"}


def check_family(model: Architecture) -> type[Network]:
    """The class of the family. Raises InputError if the family's file can't be used, and otherwise with a line for each
    key that the family lacks or whose value it does not allow."""
    if model.family not in registry.names():
        raise InputError(f"model.family={model.family!r}: choose one of {', '.join(registry.names())}")
    try:
        network = registry.family(model.family)
    except Exception as error:  # an import can raise any exception
        message = f"{type(error).__name__}: {error}"
        raise InputError(f"model.family={model.family}: pipeline/core/families/{model.family}.py: {message}") from error
    faults = [
        f"model.{key}={value}: the {model.family} family has no such thing; set model.{key}={without}"
        for key, without in WITHOUT.items()
        if (value := str(getattr(model, key)).lower()) != without and key not in network.options
    ]
    keys = {key for key, value in (model.deep or {}) if value is not None}
    faults += [
        f"model.deep.{key}: the {model.family} family has no such key" for key in sorted(keys - {*network.deep_keys})
    ]
    faults += [f"model.deep.{key}: the {model.family} family needs it" for key in network.deep_keys if key not in keys]
    if faults:
        raise InputError("\n".join(faults))
    network.check(model)
    return network
