"""Gated recurrent units without weights from state to state (minGRU; Feng and others 2024) in residual layers:
y = b + C norm(a_last), a_k = a_{k-1} + V_k s_k, where a_0 is a word's features times the root of m and, with
x = norm(a_{k-1}),

    s(t) = (1 - z) s(t-1) + z c,  z = sigmoid(d_k + Z_k x),  c = K_k x.

Gate z and candidate c do not depend on the layer's previous state. So the matrix products are computed for all words of
a step at once, and only the sums go word by word. Dropout has one mask for a whole stream, as in Merity and others
(2018).
"""

import torch
from torch import Tensor, nn

from pipeline.core.common.settings import ModelSettings
from pipeline.core.streams.network import Locked, State, StreamNetwork


class MingruNetwork(StreamNetwork):
    """C (V, m), layers of h states: ZK (2h, m), d (h), V (m, h); b (V)."""

    unbounded = True
    tables = ("C", "b")
    deep_keys = ("layers", "input_dropout", "layer_dropout")

    def __init__(self, architecture: ModelSettings, vocabulary: int):
        super().__init__(architecture)
        deep, m, h = architecture.deep, architecture.m, architecture.h
        self.C = nn.Parameter(torch.zeros(vocabulary, m))
        self.norms = nn.ModuleList(nn.LayerNorm(m) for _ in range(deep.layers + 1))
        self.ZK = nn.ParameterList(torch.zeros(2 * h, m) for _ in range(deep.layers))
        self.d = nn.ParameterList(torch.zeros(h) for _ in range(deep.layers))
        self.V = nn.ParameterList(torch.zeros(m, h) for _ in range(deep.layers))
        self.b = nn.Parameter(torch.zeros(vocabulary))
        self.of_inputs, self.of_layers, self.dropout = Locked(deep.input_dropout), Locked(deep.layer_dropout), Locked()

    @property
    def output_weight(self) -> Tensor:
        """C (V, m)."""
        return self.C

    def read(self, words: Tensor, state: State | None) -> tuple[Tensor, State]:
        """See StreamNetwork; the state: s of each layer, (S, h) each."""
        a = self.of_inputs(self.features(words) * self.architecture.m**0.5)
        before = [None] * len(self.V) if state is None else state
        last_states = []
        with torch.autocast(a.device.type, torch.bfloat16, enabled=self.bfloat16 and self.training):
            for norm, ZK, d, V, s in zip(self.norms, self.ZK, self.d, self.V, before, strict=False):
                z, c = nn.functional.linear(norm(a), ZK).to(a.dtype).chunk(2, 2)
                states, s = _scan(torch.sigmoid(d + z), c, s)
                a = a + nn.functional.linear(self.of_layers(states), V).to(a.dtype)
                last_states.append(s)
        return self.norms[-1](a), tuple(last_states)


def _scan(z: Tensor, c: Tensor, s: Tensor | None) -> tuple[Tensor, Tensor]:
    """The states (S, L, h) after each word, and the last, (S, h), from gates z and candidates c (S, L, h) and the state
    s (S, h) before the first word (None: zero)."""
    retention, update, states = 1 - z, z * c, []
    s = torch.zeros_like(c[:, 0]) if s is None else s
    for retention_t, update_t in zip(retention.unbind(1), update.unbind(1), strict=True):
        s = torch.addcmul(update_t, retention_t, s)
        states.append(s)
    return torch.stack(states, 1), s
