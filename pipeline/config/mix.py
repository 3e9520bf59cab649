"""The mixtures of conf/mixtures.yaml, and conf/mix.yaml."""

from typing import Annotated

from pydantic import Field, model_validator

from pipeline.config.base import NO_NUMBER, Above0, Amount, Keys, Name, OnModels, Seed, Text


class Mixture(Keys):
    """An entry of conf/mixtures.yaml, merged over conf/mix.yaml."""

    components: list[Text] = Field(min_length=1, description="models: <name>/<seed>")
    weights: list[Amount] = Field(description="one each, or none: learned on validation")
    by_frequency: bool = Field(description="learned for each bin of the context's frequency, as the trigram's")
    tolerance: Above0 = Field(description="learned: EM ends when the mean log-likelihood rises by less")

    @model_validator(mode="after")
    def _fit(self) -> "Mixture":
        if len(self.weights) not in (0, len(self.components)):
            raise ValueError(
                f"mix.weights: {len(self.components)} components, {len(self.weights)} weights; give one each or none"
            )
        if self.weights and self.by_frequency:
            raise ValueError("mix.weights: weights by bin are learned; give none with mix.by_frequency=true")
        if self.weights and abs(sum(self.weights) - 1) > 1e-9:
            raise ValueError(f"mix.weights={self.weights}: must sum to 1")
        return self


class Mix(OnModels):
    """conf/mix.yaml."""

    name: Name = Field(description="what the run is called; empty: its components' names with + between them")
    network: Annotated[Text, NO_NUMBER] = Field(description="${network} in conf/mixtures.yaml")
    mix: Mixture
    seed: Seed

    @model_validator(mode="after")
    def _named(self) -> "Mix":
        self.name = self.name or "+".join(part.split("/")[0] for part in self.mix.components)
        return self
