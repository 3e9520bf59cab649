"""The energy network (paper, section 5.1) and the cycling architecture (Bengio and others, NIPS 2000).

The next word is scored together with its context: y(w, context) = v . tanh(d + H x) + b_w with x = [C(w); C(context)],
and P(w | context) = softmax over all w of y. The paper's energy E is -y. It also has b of the context's words, which
cancels in the softmax. v is shared, or indexed by w. The part of H x that comes from the context is computed once per
context, the candidate's part once for all contexts. For each pair, only the sum of these parts and its tanh remain (h
values). Exact scoring works on a few contexts at a time, so that their pairs with all words stay in the processor's
cache.
"""

import torch
from torch import Tensor, nn

from pipeline.core.common.settings import ModelSettings
from pipeline.core.networks import base

CELLS = 1 << 18  # pairs times hidden units that are computed at a time


class EnergyNetwork(base.Network):
    """C (V, m), H (h, n m) whose first m columns are for the candidate, d (h), v (1, h) or (V, h), b (V)."""

    options = ("indexed",)
    in_pairs = True

    def __init__(self, architecture: ModelSettings, vocabulary: int):
        super().__init__(architecture)
        self.tables = ("C", "v", "b") if architecture.indexed else ("C", "b")
        self.dropout = nn.Dropout1d(0.0)  # drops the same hidden units for all candidates of a context
        h, m = architecture.h, architecture.m
        self.C = nn.Parameter(torch.zeros(vocabulary, m))
        self.H = nn.Parameter(torch.zeros(h, self.inputs + m))
        self.d = nn.Parameter(torch.zeros(h))
        self.v = nn.Parameter(torch.zeros(vocabulary if architecture.indexed else 1, h))
        self.b = nn.Parameter(torch.zeros(vocabulary))

    def context_part(self, context: Tensor) -> Tensor:
        """p = d + H_context C(context), (B, h)."""
        return nn.functional.linear(self.features(context).flatten(1), self.H[:, self.architecture.m :], self.d)

    def word_part(self, words: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Of `words` (K,), or of all: g = H_word C(w), (K, h); v, (K, h) where indexed, else (1, h); b, (K,)."""
        g = nn.functional.linear(self.rows(self.C, words), self.H[:, : self.architecture.m])
        return g, self.rows(self.v, words) if self.architecture.indexed else self.v, self.rows(self.b, words)

    def scores(self, p: Tensor, g: Tensor, v: Tensor, b: Tensor) -> Tensor:
        """v . tanh(p + g) + b of each pair, (B, K), from the parts of contexts and words."""
        t = (p[:, None] + g).tanh_()  # (B, K, h)
        t = self.dropout(t.mT).mT
        return ((t * v).sum(2) if self.architecture.indexed else nn.functional.linear(t, v)[:, :, 0]) + b

    def forward(self, context: Tensor, words: Tensor | None = None) -> Tensor:
        """y (B, K) of `words` (K,), or of all, after contexts (B, n-1)."""
        return self.scores(self.context_part(context), *self.word_part(words))

    @torch.no_grad()
    def log_probabilities(self, context: Tensor, target: Tensor, row_of: Tensor | None = None) -> Tensor:
        """See base.Network."""
        p, word_part = self.context_part(context), self.word_part()
        p = p if row_of is None else p[row_of]
        size = max(1, CELLS // word_part[0].numel())
        blocks = zip(p.split(size), target.split(size), strict=True)
        return torch.cat(
            [
                -nn.functional.cross_entropy(self.scores(p_block, *word_part), target_block, reduction="none")
                for p_block, target_block in blocks
            ]
        )
