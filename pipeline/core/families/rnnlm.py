"""The recurrent network language model (Mikolov and others 2010), an Elman network: y = b + U s with the state
s(t) = sigmoid(C(w_t) + R s(t-1)). So a word has as many features as the state has units."""

import torch
from torch import Tensor, nn

from pipeline.core.common.errors import InputError
from pipeline.core.common.settings import ModelSettings
from pipeline.core.streams.network import State, StreamNetwork


class RnnlmNetwork(StreamNetwork):
    """C (V, h), R (h, h), U (V, h), b (V)."""

    unbounded = True
    tables = ("C", "U", "b")

    @classmethod
    def check(cls, architecture: ModelSettings) -> None:
        """See base.Network."""
        if architecture.h != architecture.m:
            h, m = architecture.h, architecture.m
            raise InputError(f"model.h={h}: a word of this family has as many features as units; set m={m} to it")

    def __init__(self, architecture: ModelSettings, vocabulary: int):
        super().__init__(architecture)
        h = architecture.h
        self.C = nn.Parameter(torch.zeros(vocabulary, h))
        self.R = nn.Parameter(torch.zeros(h, h))
        self.U = nn.Parameter(torch.zeros(vocabulary, h))
        self.b = nn.Parameter(torch.zeros(vocabulary))

    @property
    def output_weight(self) -> Tensor:
        """U (V, h)."""
        return self.U

    def read(self, words: Tensor, state: State | None) -> tuple[Tensor, State]:
        """See StreamNetwork; the state: s (S, h)."""
        x = self.features(words)
        s, states = x.new_zeros(len(x), x.shape[2]) if state is None else state[0], []
        for x_t in x.unbind(1):
            s = torch.sigmoid(x_t + s @ self.R.T)
            states.append(s)
        return torch.stack(states, 1), (s,)
