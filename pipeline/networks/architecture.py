"""The shape of a network: one row of the paper's table."""

from dataclasses import dataclass

from pipeline.data.errors import InputError

FAMILIES = ("feedforward", "energy", "recurrent")


@dataclass
class Architecture:
    """n: order, so n-1 words of context; h: hidden units; m: features a word; direct: whether W is there."""

    n: int
    h: int
    m: int
    direct: bool = False  # from features straight to the output; the feedforward family alone has them
    family: str = "feedforward"  # a file of pipeline/core/networks
    indexed: bool = False  # energy: v of each target word instead of one for all

    def __post_init__(self):
        if self.family not in FAMILIES:
            raise InputError(f"model.family={self.family!r}: choose one of {', '.join(FAMILIES)}")
        if self.n < 2:
            raise InputError(f"model.n={self.n}: the network needs at least one word of context, so n >= 2")
        if self.h < 0:
            raise InputError(f"model.h={self.h}: hidden units can't be negative; h=0 leaves the linear part alone")
        if self.m < 1:
            raise InputError(f"model.m={self.m}: a word needs at least one feature")
        if self.h == 0 and not self.direct:
            raise InputError(
                "model.h=0 with model.direct=false: no way from context to output; set h > 0 or direct=true"
            )
        if self.direct and self.family != "feedforward":
            raise InputError(f"model.direct=true: the {self.family} family has no direct connections; set direct=false")
        if self.indexed and self.family != "energy":
            raise InputError(f"model.indexed=true: only the energy family has a v; this is {self.family}")

    @property
    def inputs(self) -> int:
        """Length of x, the features of the whole context."""
        return (self.n - 1) * self.m
