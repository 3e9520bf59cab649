"""Whether a network's family can have the shape that conf/models.yaml gives it. It imports the family, so torch too."""

from pipeline.config.network import Architecture
from pipeline.core.common.errors import InputError
from pipeline.core.networks import registry
from pipeline.core.networks.base import Network

# Of the keys that some families have alone the value by which a network of another family does without.
WITHOUT = {"direct": "false", "indexed": "false", "activation": "tanh"}


def check_family(model: Architecture) -> type[Network]:
    """The class of the family. Raises InputError with a line for each key that the family lacks, or can't have so, and
    where its file can't be used."""
    if model.family not in registry.names():
        raise InputError(f"model.family={model.family!r}: choose one of {', '.join(registry.names())}")
    try:
        network = registry.family(model.family)
    except Exception as error:  # whatever the file does when it is imported
        said = f"{type(error).__name__}: {error}"
        raise InputError(f"model.family={model.family}: pipeline/core/families/{model.family}.py: {said}") from error
    faults = [
        f"model.{key}={given}: the {model.family} family has no such thing; set model.{key}={without}"
        for key, without in WITHOUT.items()
        if (given := str(getattr(model, key)).lower()) != without and key not in network.has
    ]
    given = {key for key, value in (model.deep or {}) if value is not None}
    faults += [
        f"model.deep.{key}: the {model.family} family has no such key" for key in sorted(given - {*network.deep})
    ]
    faults += [f"model.deep.{key}: the {model.family} family needs it" for key in network.deep if key not in given]
    if faults:
        raise InputError("\n".join(faults))
    network.check(model)
    return network
