"""A Transformer decoder (Vaswani and others 2017) with normalisation before attention and feed-forward layers (Radford
and others 2019) and linear biases on distances in place of position embeddings (ALiBi; Press and others 2022):
y = b + C z, where z is the last layer's output at the last word. Inputs are the word features times the root of m.

A head weights a word at distance d by exp(k q - r d): k q is the product of key and query over the root of their
length; r is the slope of the head, 2^(-8 i / heads) for head i, the same in all layers.

Attention sees at most n-1 words. The state between two calls of `read` holds words, not activations. In scoring, the
last (n-1)/2 words are read again before the next (n-1)/2, so that each word has at least (n-1)/2 words of context. In
training, the n-1 words of a step are read without earlier context.
"""

import torch
from torch import Tensor, nn

from pipeline.core.common.errors import InputError
from pipeline.core.common.settings import ModelSettings
from pipeline.core.networks import base
from pipeline.core.streams.network import State, StreamNetwork

torch.backends.mha.set_fastpath_enabled(False)  # it takes masks as true or false; ours holds numbers


class TransformerNetwork(StreamNetwork):
    """C (V, m), layers of width m with h hidden units, b (V)."""

    tables = ("C", "b")
    deep_keys = ("layers", "heads", "input_dropout", "layer_dropout")

    @classmethod
    def check(cls, architecture: ModelSettings) -> None:
        """See base.Network."""
        if architecture.m % architecture.deep.heads:
            m, heads = architecture.m, architecture.deep.heads
            raise InputError(f"model.m={m}: not a multiple of model.deep.heads={heads}")
        if architecture.n < 3:
            raise InputError(f"model.n={architecture.n}: this family reads at least two words at a time, so n >= 3")

    def __init__(self, architecture: ModelSettings, vocabulary: int):
        super().__init__(architecture)
        deep, m, h = architecture.deep, architecture.m, architecture.h
        self.C = nn.Parameter(torch.zeros(vocabulary, m))
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                d_model=m,
                nhead=deep.heads,
                dim_feedforward=h,
                dropout=deep.layer_dropout,
                activation="gelu",
                batch_first=True,
                norm_first=True,
            )
            for _ in range(deep.layers)
        )
        self.of_inputs, of_layers = base.Dropout(), base.Dropout()
        self.of_inputs.p, of_layers.p = deep.input_dropout, deep.layer_dropout
        for layer in self.layers:  # torch's dropout takes a fifth of a step; that of attention stays
            layer.dropout = layer.dropout1 = layer.dropout2 = of_layers
        self.norm = nn.LayerNorm(m)
        self.b = nn.Parameter(torch.zeros(vocabulary))
        for name, parameter in self.layers.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(parameter)

    @property
    def output_weight(self) -> Tensor:
        """C (V, m)."""
        return self.C

    def read(self, words: Tensor, state: State | None) -> tuple[Tensor, State]:
        """See StreamNetwork; the state: the last words (S, at most (n-1)/2), ids."""
        half = (self.architecture.n - 1) // 2
        if self.training:
            return self._layers(words), ()
        outputs = []
        context = words[:, :0] if state is None else state[0]
        for part in words.split(half, 1):
            window = torch.cat([context, part], 1)
            outputs.append(self._layers(window)[:, -part.shape[1] :])
            context = window[:, -half:]
        return torch.cat(outputs, 1), (context,)

    def _layers(self, words: Tensor) -> Tensor:
        """z (S, L, m) of at most n-1 words (S, L), each with the words before it in this row as context."""
        distances = self._distances(words.shape[1]).repeat(len(words), 1, 1)
        with torch.autocast(self.b.device.type, torch.bfloat16, enabled=self.bfloat16 and self.training):
            x = self.of_inputs(self.features(words) * self.architecture.m**0.5)
            for layer in self.layers:
                x = layer(x, src_mask=distances)
        return self.norm(x.to(self.b.dtype))

    def _distances(self, length: int) -> Tensor:
        """The mask (heads, L, L): -r d for the word of a column seen from the word of a row, -inf for later words."""
        heads = self.architecture.deep.heads
        places = torch.arange(length, device=self.b.device, dtype=self.b.dtype)
        slopes = 2 ** (-8 * torch.arange(1, heads + 1, device=self.b.device) / heads)
        ahead = places - places[:, None]
        return (slopes[:, None, None] * ahead).masked_fill(ahead > 0, -torch.inf)
