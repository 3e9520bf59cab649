"""Long short-term memory (Hochreiter and Schmidhuber 1997) as a language model (Sundermeyer and others 2012):
y = b + U z, z the last layer's state, from the features of one word after the other.

Regularised as Zaremba and others (2014) by dropout between layers, or as Merity and others (2018): dropout that stays
the same along a stream, of whole words, and of the weights from state to state; features that are U too.
"""

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.func import functional_call

from pipeline.networks import base, streams
from pipeline.networks.streams import State


def locked(x: Tensor, p: float) -> Tensor:
    """Dropout of x (S, L, D), of the same features at all words of a stream (Gal and Ghahramani 2016)."""
    return x * nn.functional.dropout(torch.ones_like(x[:, :1]), p)


class Network(streams.StreamNetwork):
    """C (V, m), layers of m or h inputs and h states, the last of m states where C is U too; else U (V, h); b (V)."""

    def __init__(self, architecture: base.Architecture, vocabulary: int):
        super().__init__(architecture)
        deep, m, h = architecture.deep, architecture.m, architecture.h
        self.tables = ("C", "b") if deep.tied else ("C", "U", "b")
        self.C = nn.Parameter(torch.zeros(vocabulary, m))
        sizes = [m] + [h] * (deep.layers - 1) + [m if deep.tied else h]
        self.layers = nn.ModuleList(nn.LSTM(*pair, batch_first=True) for pair in pairwise(sizes))
        for layer in self.layers:
            for bias in (layer.bias_ih_l0, layer.bias_hh_l0):
                nn.init.zeros_(bias)
        if not deep.tied:
            self.U = nn.Parameter(torch.zeros(vocabulary, h))
        self.b = nn.Parameter(torch.zeros(vocabulary))
        self.of_weights = base.Dropout()
        self.of_weights.p = deep.weight_dropout

    @property
    def output_weight(self) -> Tensor:
        """U (V, D)."""
        return self.C if self.architecture.deep.tied else self.U

    def read(self, words: Tensor, state: State | None) -> tuple[Tensor, State]:
        """See StreamNetwork; the state: of each layer its output and its memory (S, h)."""
        deep = self.architecture.deep
        x = self.features(words)
        if self.training and deep.word_dropout:
            kept = torch.rand(len(self.C), device=x.device) >= deep.word_dropout
            x = x * (kept[words] / (1 - deep.word_dropout))[:, :, None]
        x = self._dropped(x, deep.input_dropout)
        left = []
        for k, layer in enumerate(self.layers):
            before = None if state is None else (state[2 * k][None], state[2 * k + 1][None])
            x, (output, memory) = self._layer(layer, x, before)
            left += [output[0], memory[0]]
            if k + 1 < len(self.layers):
                x = self._dropped(x, deep.layer_dropout)
        return x, tuple(left)

    def _dropped(self, x: Tensor, p: float) -> Tensor:
        if not (self.training and p):
            return x
        return locked(x, p) if self.architecture.deep.locked else nn.functional.dropout(x, p)

    def _layer(self, layer: nn.LSTM, x: Tensor, before: State | None) -> tuple[Tensor, State]:
        """One layer over streams x (S, L, D); in bfloat16 where the output layer is."""
        weights = {"weight_hh_l0": self.of_weights(layer.weight_hh_l0)}
        with torch.autocast(x.device.type, torch.bfloat16, enabled=self.bfloat16 and self.training):
            y, (output, memory) = functional_call(layer, weights, (x, before))
        return y.to(x.dtype), (output.to(x.dtype), memory.to(x.dtype))
