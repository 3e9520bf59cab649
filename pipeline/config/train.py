"""conf/train.yaml."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from pipeline.config.base import BOUND, NO_NUMBER, Amount, Named, OnCorpus, OutFolder, Seed, Text
from pipeline.config.network import Architecture
from pipeline.config.recipe import Recipe


def _device(value: str) -> str:
    if not re.fullmatch(r"cpu|mps|cuda(:\d+)?", value):
        raise ValueError("choose cpu, cuda, cuda:N or mps")
    return value


def _all_or_some(value: object) -> object:
    if not isinstance(value, bool) and not (isinstance(value, int) and 1000 <= value <= BOUND):
        raise ValueError("should be true, false, or how many tokens, 1,000 or more")
    return value


class Train(Named, OnCorpus):
    """conf/train.yaml."""

    model: Architecture
    recipe: Recipe
    seed: Seed
    device: Annotated[Text, AfterValidator(_device)] = Field(description="cpu, cuda, cuda:1 or mps")
    parallel: Literal["none", "threads", "data", "parameters"] = Field(
        description="none: one thread; threads: one process with a thread on each core; data or parameters: one "
        "network on the processes that torchrun starts"
    )
    score_train: Annotated[bool | int, BeforeValidator(_all_or_some)] = Field(
        description="true, false or a number of tokens: exact perplexity of the training part too, of all of it or of "
        "so many tokens in blocks spread evenly, with its standard error; only seed 0 does it"
    )
    exact_scoring: bool = Field(
        description="score in float32 where the processor has bfloat16, too; perplexities differ by some 1e-5"
    )
    features: Text = Field(description="an .npy file with C (V, m) at the start; empty: random features")
    checkpoints: OutFolder = Field(description="the folder from which a killed run goes on")
    checkpoint_seconds: Annotated[Amount, NO_NUMBER] = Field(description="how often a checkpoint is written")
    keep_state: Annotated[bool, NO_NUMBER] = Field(
        description="leave state.pt in out, from which a training with more epochs can go on"
    )
    resume: Annotated[Text, NO_NUMBER] = Field(
        description="a folder with state.pt: continue from there; the result is bit-identical to one training"
    )
