"""What a configuration's keys may hold: the error names the key, its value and what to do."""

import math
from dataclasses import dataclass

import pytest
from omegaconf import OmegaConf

from pipeline.data.constraints import above_zero, at_least, check, one_of
from pipeline.data.errors import InputError


@dataclass
class Inner:
    kind: str = one_of("a", "b")
    order: int = at_least(1, default=3)
    share: float = at_least(0, below=1, default=0.0)
    passes: int = at_least(0, default=0)
    rate: float = above_zero(default=1.0, when=lambda inner: inner.kind == "a")

    def __post_init__(self):
        check(self, "inner.")


@dataclass
class Outer:
    inner: Inner


def composed(**values):
    """As a stage makes its configuration."""
    return OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(Outer), {"inner": {"kind": "a"} | values}))


def test_what_is_allowed_passes_through_omegaconf():
    assert composed(order=1, share=0.5) == Outer(Inner("a", 1, 0.5))
    assert composed(kind="b", rate=-1).inner.rate == -1  # of kind b no rate is asked


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"kind": "c"}, r"^inner\.kind='c': choose one of a, b$"),
        ({"order": 0}, r"^inner\.order=0: must be at least 1$"),
        ({"passes": -1}, r"^inner\.passes=-1: can't be negative$"),
        ({"share": 1.0}, r"^inner\.share=1\.0: must be at least 0 and below 1$"),
        ({"rate": 0}, r"^inner\.rate=0\.0: must be above zero$"),
        ({"rate": math.nan}, r"^inner\.rate=nan: must be a finite number$"),
        ({"rate": math.inf}, r"^inner\.rate=inf: must be a finite number$"),
        ({"rate": 1e308}, r"^inner\.rate=1e\+308: must lie between -1e\+12 and 1e\+12$"),
        ({"order": 10**18}, r"^inner\.order=1000000000000000000: must lie between -1e\+12 and 1e\+12$"),
    ],
)
def test_what_is_not_allowed_is_named(values, says):
    with pytest.raises(InputError, match=says):
        composed(**values)


def test_a_key_without_a_default_must_be_given():
    with pytest.raises(TypeError, match="kind"):
        Inner()
