"""What the core asks of settings is what pydantic declares: the same keys, each of a type that fits."""

from typing import get_type_hints

import pytest

from pipeline.config.adapt import Adaptation
from pipeline.config.corpus import Corpus
from pipeline.config.mix import Mixture
from pipeline.config.network import Architecture, Deep
from pipeline.config.ngram import NgramModel
from pipeline.config.recipe import Recipe
from pipeline.core.common import settings

PAIRS = {
    settings.DeepSettings: Deep,
    settings.ModelSettings: Architecture,
    settings.RecipeSettings: Recipe,
    settings.NgramSettings: NgramModel,
    settings.MixtureSettings: Mixture,
    settings.AdaptationSettings: Adaptation,
    settings.CorpusSettings: Corpus,
}
# Keys that say what a group is called or where it is had: no function of the core reads them.
BESIDE = {"name", "sources", "local", "path", "sha256", "packed"}
KINDS = {bool: "bool", int: "int", float: "float", str: "str"}


def kinds(annotation) -> set[str]:
    """The simple types in an annotation, a literal's those of its values."""
    parts = getattr(annotation, "__args__", ())
    if not parts:
        return {KINDS.get(annotation, KINDS.get(type(annotation), "other"))}
    return set().union(*map(kinds, parts))


@pytest.mark.parametrize("protocol", PAIRS, ids=lambda protocol: protocol.__name__)
def test_the_core_and_the_configuration_declare_the_same_keys(protocol):
    asked, declared = get_type_hints(protocol), PAIRS[protocol].model_fields
    beside = {"path"} if protocol is settings.NgramSettings else set()
    assert asked.keys() == declared.keys() - (BESIDE - beside)
    for key, annotation in asked.items():
        assert kinds(annotation) & kinds(declared[key].annotation), key
