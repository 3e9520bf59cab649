"""Long short-term memory (Hochreiter and Schmidhuber 1997) as a language model (Sundermeyer and others 2012):
y = b + U z, where z is the last layer's state. The network reads the word features one word after the other.

Regularisation is that of Zaremba and others (2014): dropout between layers; or that of Merity and others (2018,
AWD-LSTM): dropout with one mask for a whole stream, dropout of words, dropout of the weights from state to state, tied
word features (U is C), and the penalties alpha mean z^2 and beta mean (z_t - z_{t-1})^2 (activation regularisation, in
the paper of z after its dropout, and temporal activation regularisation). AWD-LSTM's steps of random length are left
out. Both papers train with stochastic gradient descent; the trainer uses Adam, and averages a fixed share of the last
weights.
"""

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.func import functional_call

from pipeline.core.common.errors import InputError
from pipeline.core.common.settings import ModelSettings
from pipeline.core.networks import base
from pipeline.core.streams.network import Locked, State, StreamNetwork


class LstmNetwork(StreamNetwork):
    """C (V, m); layers with h states, the first with m inputs, the others with h; U (V, h); b (V).

    Where the word features are tied, U is C and the last layer has m states.
    """

    unbounded = True
    deep_keys = (
        "layers",
        "tied",
        "input_dropout",
        "layer_dropout",
        "word_dropout",
        "weight_dropout",
        "locked",
        "state_penalty",
        "change_penalty",
    )

    @classmethod
    def check(cls, architecture: ModelSettings) -> None:
        """See base.Network."""
        deep, h, m = architecture.deep, architecture.h, architecture.m
        if deep.layers == 1 and deep.tied and h != m:
            raise InputError(f"model.h={h}: one layer whose outputs meet the features has m = {m} units; set h to it")
        if deep.layers == 1 and deep.layer_dropout:
            raise InputError(
                f"model.deep.layer_dropout={deep.layer_dropout}: there is nothing between one layer; set it to 0"
            )

    def __init__(self, architecture: ModelSettings, vocabulary: int):
        super().__init__(architecture)
        deep, m, h = architecture.deep, architecture.m, architecture.h
        self.tables = ("C", "b") if deep.tied else ("C", "U", "b")
        self.C = nn.Parameter(torch.zeros(vocabulary, m))
        sizes = [m] + [h] * (deep.layers - 1) + [m if deep.tied else h]
        self.layers = nn.ModuleList(nn.LSTM(inputs, units, batch_first=True) for inputs, units in pairwise(sizes))
        for layer in self.layers:
            for bias in (layer.bias_ih_l0, layer.bias_hh_l0):
                nn.init.zeros_(bias)
        if not deep.tied:
            self.U = nn.Parameter(torch.zeros(vocabulary, h))
        self.b = nn.Parameter(torch.zeros(vocabulary))
        self.of_weights = base.Dropout()
        self.of_weights.p = deep.weight_dropout
        kind = Locked if deep.locked else nn.Dropout
        self.of_inputs, self.between = kind(deep.input_dropout), kind(deep.layer_dropout)
        if deep.locked:
            self.dropout = Locked()
        self.penalty: Tensor | None = None  # of the current training step

    @property
    def output_weight(self) -> Tensor:
        """U (V, D)."""
        return self.C if self.architecture.deep.tied else self.U

    def loss(
        self, context: Tensor, target: Tensor, words: Tensor | None = None, correction: Tensor | None = None
    ) -> Tensor:
        """See base.Network. The penalties change the gradient only: the value is the loss without them."""
        loss = super().loss(context, target, words, correction)
        penalty, self.penalty = self.penalty, None
        return loss + (penalty - penalty.detach())

    def read(self, words: Tensor, state: State | None) -> tuple[Tensor, State]:
        """See StreamNetwork; the state: the output and the memory of each layer, (S, h) each."""
        deep = self.architecture.deep
        x = self.features(words)
        if self.training and deep.word_dropout:
            keep_mask = torch.rand(len(self.C), device=x.device) >= deep.word_dropout
            x = x * (keep_mask[words] / (1 - deep.word_dropout))[:, :, None]
        x = self.of_inputs(x)
        states = []
        for k, layer in enumerate(self.layers):
            before = None if state is None else (state[2 * k][None], state[2 * k + 1][None])
            x, (output, memory) = self._layer(layer, x, before)
            states += [output[0], memory[0]]
            if k + 1 < len(self.layers):
                x = self.between(x)
        if self.training:
            self.penalty = deep.state_penalty * x.square().mean() + deep.change_penalty * x.diff(dim=1).square().mean()
        return x, tuple(states)

    def _layer(self, layer: nn.LSTM, x: Tensor, before: State | None) -> tuple[Tensor, State]:
        """One layer over streams x (S, L, D); in bfloat16 where the output layer uses it."""
        weights = {"weight_hh_l0": self.of_weights(layer.weight_hh_l0)}
        with torch.autocast(x.device.type, torch.bfloat16, enabled=self.bfloat16 and self.training):
            y, (output, memory) = functional_call(layer, weights, (x, before))
        return y.to(x.dtype), (output.to(x.dtype), memory.to(x.dtype))
