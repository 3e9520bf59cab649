"""conf/adapt (how a network adapts to the text that it reads) and conf/adapt.yaml."""

from typing import Literal

from pydantic import Field, model_validator

from pipeline.config.base import Above0, Amount, Keys, OnNetwork, Positive, Seed

KEYS_OF_KIND = {"cache": {"size", "thetas"}, "dynamic": {"length", "rates", "decays", "epsilon", "tried", "measured"}}


class Adaptation(Keys):
    """conf/adapt/<name>.yaml. Each kind needs all of its keys and has no others."""

    kind: Literal["cache", "dynamic"] = Field(description="neural cache or dynamic evaluation")
    size: Positive | None = Field(None, description="cache: words that it holds")
    thetas: list[Amount] | None = Field(
        None, min_length=1, description="cache: how sharply likeness counts; the best on validation is taken"
    )
    length: Positive | None = Field(None, description="dynamic: words of a stretch, scored and then learned from")
    rates: list[Amount] | None = Field(
        None, min_length=1, description="dynamic: of a step; with decays, the best pair on the words tried is taken"
    )
    decays: list[Amount] | None = Field(None, min_length=1, description="dynamic: back towards the trained weights")
    epsilon: Above0 | None = Field(None, description="dynamic: keeps weights with small gradients from leaps")
    tried: Positive | None = Field(None, description="dynamic: the first words of validation, for that choice")
    measured: Positive | None = Field(None, description="dynamic: the last words of training, for gradients' sizes")

    @model_validator(mode="after")
    def _fit(self) -> "Adaptation":
        needed = KEYS_OF_KIND[self.kind]
        keys = {key for key in type(self).model_fields if key != "kind" and getattr(self, key) is not None}
        if keys != needed:
            faults = ", ".join(f"adapt.{key}" for key in sorted(keys ^ needed))
            raise ValueError(f"{faults}: adapt.kind={self.kind} needs {', '.join(sorted(needed))} and no others")
        return self


class Adapt(OnNetwork):
    """conf/adapt.yaml."""

    adapt: Adaptation
    seed: Seed
